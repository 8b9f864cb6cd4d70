#include "front/request_headers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mcpivot {
namespace {

using testing::HasSubstr;

// --- values

TEST(HeaderValue, is_literal_unless_it_is_encoded) {
  EXPECT_EQ(decoded_header("us-west1"), "us-west1");
  EXPECT_EQ(decoded_header("SGVsbG8="), "SGVsbG8=");
  EXPECT_EQ(decoded_header("=?base64?SGVsbG8="), "=?base64?SGVsbG8=");
  EXPECT_EQ(decoded_header("SGVsbG8=?="), "SGVsbG8=?=");
  EXPECT_EQ(decoded_header("=?base64?SGVsbG8=?="), "Hello");
  EXPECT_EQ(decoded_header("=?base64?8J+Ygg==?="), "\xf0\x9f\x98\x82");
  EXPECT_EQ(decoded_header("=?base64?"
                           "?="),
            "");
}

TEST(HeaderValue, with_invalid_base64_is_rejected) {
  for (const char* value : {"=?base64?SGVsbG8?=", "=?base64?SGVsbG8==?=", "=?base64?SGVs!!!bG8=?=",
                            "=?base64?====?=", "=?base64?8J-Ygg==?=", "caf\xc3\xa9"})
    EXPECT_EQ(decoded_header(value), std::nullopt) << value;
}

// --- arguments

constexpr std::string_view tool =
    R"({"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},)"
    R"("deep":{"type":"object","properties":{"count":{"type":"integer","x-mcp-header":"Count"}}},"other":{"type":"string"}}}})";

// The problem with a call with these arguments and headers.
std::string fault(std::string_view arguments,
                  const std::vector<std::pair<std::string, std::string>>& headers) {
  HttpAsk ask;
  for (const auto& [name, value] : headers) ask.add(name, value);
  const std::string call = fmt::format(
      R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{}}}}})",
      arguments);
  return fault_in_arguments(ask, *read_message(call), tool);
}

TEST(MirroredArgument, must_be_the_same_in_the_header_and_in_the_body) {
  EXPECT_EQ(fault(R"({"region":"us","other":"x"})", {{"Mcp-Param-Region", "us"}}), "");
  EXPECT_EQ(fault(R"({"region":"us"})", {{"mcp-param-region", "=?base64?dXM=?="}}), "");
  EXPECT_THAT(fault(R"({"region":"us"})", {{"Mcp-Param-Region", "eu"}}),
              HasSubstr("Mcp-Param-Region header value 'eu' does not match body value 'us'"));
  EXPECT_THAT(fault(R"({"region":"us"})", {{"Mcp-Param-Region", "US"}}), HasSubstr("does not match"));
  EXPECT_THAT(fault(R"({"region":"us"})", {{"Mcp-Param-Region", "=?base64?dXM?="}}),
              HasSubstr("can't be read"));
}

TEST(MirroredArgument, has_a_header_exactly_when_it_is_given) {
  EXPECT_THAT(fault(R"({"region":"us"})", {}), HasSubstr("the Mcp-Param-Region header is missing"));
  EXPECT_EQ(fault("{}", {}), "");
  EXPECT_EQ(fault(R"({"region":null})", {}), "");
  EXPECT_THAT(fault("{}", {{"Mcp-Param-Region", "us"}}), HasSubstr("no such argument"));
}

TEST(MirroredArgument, that_is_an_integer_is_compared_as_a_number) {
  EXPECT_EQ(fault(R"({"deep":{"count":42}})", {{"Mcp-Param-Count", "42.0"}}), "");
  EXPECT_EQ(fault(R"({"deep":{"count":42.0}})", {{"Mcp-Param-Count", "42"}}), "");
  EXPECT_THAT(fault(R"({"deep":{"count":42}})", {{"Mcp-Param-Count", "43"}}), HasSubstr("does not match"));
  EXPECT_THAT(fault(R"({"region":"42"})", {{"Mcp-Param-Region", "42.0"}}), HasSubstr("does not match"));
}

TEST(MirroredArgument, headers_that_the_schema_does_not_name_are_ignored) {
  EXPECT_EQ(fault(R"({"other":"x"})", {{"Mcp-Param-Other", "y"}}), "");
}

}  // namespace
}  // namespace mcpivot
