#include "mcp/era.h"

#include <gtest/gtest.h>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

TEST(Era, a_request_is_modern_if_its_meta_names_a_version) {
  EXPECT_EQ(era_of(*read_message(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")), Era::legacy);
  EXPECT_EQ(era_of(*read_message(
                R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}})")),
            Era::legacy);
  EXPECT_EQ(
      era_of(*read_message(
          R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})")),
      Era::modern);
}

TEST(Era, a_version_that_appears_twice_is_refused) {
  EXPECT_FALSE(read_message(
      R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/protocolVersion":"2025-11-25"}}})"));
}

TEST(Era, a_modern_clients_meta_becomes_initialize_params_and_back) {
  const std::string hello = hello_of(
      R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1e0"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}, "x":1.0}})");
  EXPECT_EQ(
      hello,
      R"({"protocolVersion":"2025-11-25","capabilities":{"roots":{}, "x":1.0},"clientInfo":{"name":"c","version":"1e0"}})");
  EXPECT_EQ(
      meta_members(hello, R"("info")"),
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"x":1.0},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1e0"},"io.modelcontextprotocol/logLevel":"info")");
}

TEST(Era, a_client_without_client_info_still_has_initialize_params) {
  EXPECT_EQ(
      hello_of("{}"),
      R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"unknown","version":"0"}})");
  EXPECT_EQ(
      meta_members(R"({"capabilities":[]})"),
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{})");
}

TEST(Era, the_tasks_capability_of_one_era_is_not_offered_in_the_other) {
  EXPECT_EQ(find_member("{" + meta_members(R"({"capabilities":{"tasks":{},"roots":{}}})") + "}",
                        meta_key::client_capabilities),
            R"({"roots":{}})");
  EXPECT_EQ(
      find_member(discover_result_of(R"({"capabilities":{"tasks":{"list":{}},"tools":{}}})"), "capabilities"),
      R"({"tools":{}})");
}

TEST(Era, a_discover_result_becomes_an_initialize_result) {
  const std::string_view discovered =
      R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"be kind","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}},"ttlMs":1,"cacheScope":"public"})";
  EXPECT_EQ(
      initialize_result_of(discovered, R"("2025-06-18")"),
      R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"be kind"})");
  EXPECT_TRUE(is_discover_result(discovered));
  EXPECT_TRUE(offers_modern(discovered));
  EXPECT_FALSE(offers_modern(R"({"supportedVersions":["2025-11-25"]})"));
  EXPECT_FALSE(offers_modern(R"({"supportedVersions":"2026-07-28"})"));
}

TEST(Era, an_initialize_result_becomes_a_discover_result) {
  EXPECT_EQ(
      discover_result_of(
          R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"be kind"})"),
      R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"be kind","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}},"ttlMs":0,"cacheScope":"private"})");
}

}  // namespace
}  // namespace mcpivot
