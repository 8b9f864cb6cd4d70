#include "link/mirrored_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Item tool(const std::string& name, const std::string& schema) {
  return {name, R"({"name":")" + name + R"(","inputSchema":)" + schema + "}"};
}

std::string properties(const std::string& inside) {
  return R"({"type":"object","properties":{)" + inside + "}}";
}

std::string fault_in(const std::string& schema) {
  const auto found = mirrored_arguments(tool("t", schema).json);
  return found ? std::string() : found.error();
}

// The headers of a call of "t" with this schema, beyond those that every call has.
std::string params_of(const std::string& schema, const std::string& arguments) {
  MirroredHeaders headers;
  std::vector<Item> tools{tool("t", schema)};
  headers.learn(tools, [](const std::string&, const std::string& why) { ADD_FAILURE() << why; });
  const std::string line =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":)" + arguments + "}}";
  const std::string lines = headers.of(*read_message(line));
  const std::string usual = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: t\r\n";
  EXPECT_TRUE(lines.starts_with(usual)) << lines;
  return lines.substr(usual.size());
}

std::string headers_of(const std::string& line) {
  return MirroredHeaders().of(*read_message(line));
}

// The specification's examples, and its reasons.
TEST(MirroredHeaders, a_value_that_a_header_cannot_carry_is_encoded) {
  EXPECT_EQ(header_value("us-west1"), "us-west1");
  EXPECT_EQ(header_value("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
  EXPECT_EQ(header_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
  EXPECT_EQ(header_value("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
  EXPECT_EQ(header_value("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
  EXPECT_EQ(header_value("a\tb c"), "a\tb c");
  EXPECT_EQ(header_value(""),
            "=?base64?"
            "?=");
  EXPECT_EQ(header_value("a\r\nEvil: yes"), "=?base64?YQ0KRXZpbDogeWVz?=");
  EXPECT_EQ(header_value("\x7f"), "=?base64?fw==?=");
}

TEST(MirroredHeaders, each_message_repeats_its_version_and_method_and_sometimes_a_name) {
  EXPECT_EQ(headers_of(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"),
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n");
  EXPECT_THAT(
      headers_of(R"({"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"gr\u00fc\u00df"}})"),
      HasSubstr("Mcp-Name: =?base64?Z3LDvMOf?=\r\n"));
  EXPECT_THAT(
      headers_of(
          R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:\/\/\/a","name":"b"}})"),
      HasSubstr("Mcp-Name: file:///a\r\n"));
  EXPECT_THAT(headers_of(R"({"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t-1"}})"),
              HasSubstr("Mcp-Name: t-1\r\n"));
  EXPECT_EQ(headers_of(R"({"jsonrpc":"2.0","method":"notifications/x","params":{"name":"b"}})"),
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: notifications/x\r\n");
}

// A header must match the body, even if the body has something else than we would have sent.
TEST(MirroredHeaders, the_version_is_the_one_in_the_body) {
  EXPECT_THAT(
      headers_of(
          R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}})"),
      HasSubstr("MCP-Protocol-Version: 2027-01-01\r\n"));
}

TEST(MirroredHeaders, a_method_that_a_header_cannot_carry_is_omitted) {
  EXPECT_EQ(headers_of(R"({"jsonrpc":"2.0","id":1,"method":"x\r\nEvil: yes"})"),
            "MCP-Protocol-Version: 2026-07-28\r\n");
}

TEST(MirroredHeaders, marked_arguments_are_repeated_as_text) {
  const std::string schema = properties(
      R"("region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"Count"},)"
      R"("dry":{"type":"boolean","x-mcp-header":"Dry-Run"},"sql":{"type":"string"})");
  EXPECT_EQ(params_of(schema, R"({"region":"us-west1","n":-7,"dry":true,"sql":"SELECT"})"),
            "Mcp-Param-Region: us-west1\r\nMcp-Param-Count: -7\r\nMcp-Param-Dry-Run: true\r\n");
  EXPECT_EQ(params_of(schema, R"({"region":null,"n":42.0})"), "Mcp-Param-Count: 42\r\n");
  EXPECT_EQ(params_of(schema, R"({"region":" x","n":4.2e1,"dry":false})"),
            "Mcp-Param-Region: =?base64?IHg=?=\r\nMcp-Param-Count: 42\r\nMcp-Param-Dry-Run: false\r\n");
  EXPECT_EQ(params_of(schema, R"({"n":9007199254740991})"), "Mcp-Param-Count: 9007199254740991\r\n");
  EXPECT_EQ(params_of(schema, R"({"n":9007199254740993,"region":{"a":1},"dry":[true]})"), "");
  EXPECT_EQ(params_of(schema, R"({})"), "");
  EXPECT_EQ(params_of(schema, R"("none")"), "");
}

TEST(MirroredHeaders, a_marked_argument_may_be_inside_objects) {
  const std::string schema = properties(
      R"("where":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}})");
  EXPECT_EQ(params_of(schema, R"({"where":{"zone":"b"},"zone":"not this"})"), "Mcp-Param-Zone: b\r\n");
  EXPECT_EQ(params_of(schema, R"({"where":"b"})"), "");
}

TEST(MirroredHeaders, something_that_only_looks_like_a_mark_is_ignored) {
  EXPECT_THAT(*mirrored_arguments(tool("t", properties(R"("x-mcp-header":{"type":"number"})")).json),
              IsEmpty());
  EXPECT_EQ(fault_in(properties(R"("a":{"type":"object","default":{"x-mcp-header":""}})")), "");
  EXPECT_EQ(fault_in(properties(R"("a":{"description":"see x-mcp-header"})")), "");
}

TEST(MirroredHeaders, a_wrong_mark_is_reported) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {properties(R"("a":{"type":"string","x-mcp-header":""})"), "isn't the name of a header"},
      {properties(R"("a":{"type":"string","x-mcp-header":7})"), "isn't the name of a header"},
      {properties(R"("a":{"type":"string","x-mcp-header":"A B"})"), "isn't the name of a header"},
      {properties(R"("a":{"type":"string","x-mcp-header":"A\r\nEvil: yes"})"), "isn't the name of a header"},
      {properties(R"("a":{"type":"string","x-mcp-header":"\u00fc"})"), "isn't the name of a header"},
      {properties(R"("a":{"type":"number","x-mcp-header":"A"})"), "isn't a string, an integer or a boolean"},
      {properties(R"("a":{"x-mcp-header":"A"})"), "isn't a string, an integer or a boolean"},
      {properties(R"("a":{"type":"object","x-mcp-header":"A"})"), "isn't a string, an integer or a boolean"},
      {properties(R"("a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"})"),
       "appears twice"},
      {R"({"type":"object","x-mcp-header":"A"})", "`properties` alone"},
      {properties(R"("a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}})"),
       "`properties` alone"},
      {properties(R"("a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]})"), "`properties` alone"},
      {properties(R"("a":{"not":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}})"),
       "`properties` alone"},
      {R"({"$defs":{"a":{"type":"string","x-mcp-header":"A"}}})", "`properties` alone"},
      {R"({"then":{"type":"string","x-mcp-header":"A"}})", "`properties` alone"},
  };
  for (const auto& [schema, words] : cases) EXPECT_THAT(fault_in(schema), HasSubstr(words)) << schema;
}

TEST(MirroredHeaders, only_a_tool_with_a_wrong_mark_is_removed_from_the_list) {
  MirroredHeaders headers;
  std::vector<Item> tools{tool("a", "{}"), tool("b", R"({"x-mcp-header":"B"})"), tool("c", "{}")};
  std::vector<std::string> rejected;
  headers.learn(tools, [&](const std::string& name, const std::string&) { rejected.push_back(name); });
  EXPECT_THAT(rejected, ElementsAre("b"));
  EXPECT_THAT(tools, ElementsAre(tool("a", "{}"), tool("c", "{}")));
}

TEST(MirroredHeaders, the_next_list_replaces_what_was_learned_about_tools) {
  MirroredHeaders headers;
  std::vector<Item> tools{tool("t", properties(R"("a":{"type":"string","x-mcp-header":"A"})"))};
  const auto fine = [](const std::string&, const std::string& why) { ADD_FAILURE() << why; };
  headers.learn(tools, fine);
  tools = {tool("t", "{}")};
  headers.learn(tools, fine);
  const std::string line =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"x"}}})";
  EXPECT_EQ(headers.of(*read_message(line)).find("Mcp-Param"), std::string::npos);
}

}  // namespace
}  // namespace mcpivot
