#include "mcp/request_meta.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

bool again(std::string_view error) {
  const std::string line = fmt::format(R"({{"jsonrpc":"2.0","id":1,"error":{}}})", error);
  return wants_modern_again(*read_message(line));
}

TEST(UnsupportedVersion, is_retried_if_the_server_supports_the_version_it_was_asked_in) {
  EXPECT_TRUE(again(R"({"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}})"));
  EXPECT_TRUE(again(R"({"code":-32022,"message":"m","data":{"supported":["2027-01-01","2026-07-28"]}})"));
  EXPECT_FALSE(again(R"({"code":-32022,"message":"m","data":{"supported":["2025-11-25"]}})"));
  EXPECT_FALSE(again(R"({"code":-32022,"message":"m","data":{"supported":7}})"));
  EXPECT_FALSE(again(R"({"code":-32022,"message":"m"})"));
  EXPECT_FALSE(again(R"({"code":-32601,"message":"m","data":{"supported":["2026-07-28"]}})"));
  EXPECT_FALSE(wants_modern_again(*read_message(R"({"jsonrpc":"2.0","id":1,"result":{}})")));
}

}  // namespace
}  // namespace mcpivot
