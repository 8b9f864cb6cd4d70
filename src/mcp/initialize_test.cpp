#include "mcp/initialize.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace mcpivot {
namespace {

namespace json = boost::json;

TEST(Initialize, the_widened_result_is_valid_json_whatever_the_server_left_out) {
  for (const char* result :
       {"{}", "{ }", R"({"capabilities":{}})", R"({"serverInfo":{"name":"x"}})", "5", "[1]"}) {
    const json::value widened = json::parse(widened_initialize_result(result));
    EXPECT_TRUE(widened.at("capabilities").at("tools").at("listChanged").as_bool()) << result;
  }
}

TEST(Initialize, other_members_of_the_servers_result_are_kept) {
  const json::value widened =
      json::parse(widened_initialize_result(R"({"serverInfo":{"name":"x"},"y":1.50})"));
  EXPECT_EQ(widened.at("serverInfo").at("name").as_string(), "x");
  EXPECT_EQ(widened.as_object().size(), 3);
}

TEST(Initialize, knows_the_name_of_a_server_of_either_era) {
  EXPECT_EQ(server_own_name(R"({"serverInfo":{"name":"x \"y\"","version":"1"}})"), "x \"y\"");
  EXPECT_EQ(server_own_name(R"({"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"z"}}})"), "z");
  for (const char* none : {"", "{}", R"({"serverInfo":{"name":5}})", R"({"serverInfo":"x"})"})
    EXPECT_EQ(server_own_name(none), "") << none;
}

TEST(Initialize, knows_the_protocol_versions) {
  for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"})
    EXPECT_TRUE(is_protocol_version(version)) << version;
  for (const char* other : {"", "1999-01-01", "2025-11-26", "\"2025-11-25\""})
    EXPECT_FALSE(is_protocol_version(other)) << other;
}

TEST(Initialize, a_capability_spelled_with_escapes_does_not_appear_twice) {
  const std::string widened =
      widened_initialize_result(R"({"capabilities":{"to\u006fls":{"list\u0043hanged":false,"x":1}}})");
  EXPECT_EQ(widened.find("u006f"), std::string::npos) << widened;
  const json::value parsed = json::parse(widened);
  const json::value& tools = parsed.at("capabilities").at("tools");
  EXPECT_TRUE(tools.at("listChanged").as_bool());
  EXPECT_EQ(tools.at("x").as_int64(), 1);
  EXPECT_EQ(widened.find("false"), std::string::npos) << widened;
}

}  // namespace
}  // namespace mcpivot
