#include "mcp/notice.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "mcp/initialize.h"

namespace mcpivot {
namespace {

struct Outcome {
  std::string text;
  bool delivered;
};

Outcome with_notice(const std::string& line, std::string_view tool = {}) {
  const Message message = read_message(line).value();
  const NoticeInAnswer notice(message, "[mcpivot] \"x\"", tool);
  Edits edits;
  edits.replace(message.id, "9");
  notice.add_to(edits);
  return {spliced(line, edits.list()), notice.delivered()};
}

TEST(Notice, is_the_first_block_of_a_result) {
  const auto [text, delivered] =
      with_notice(R"({"jsonrpc":"2.0","result":{"content": [{"type":"text","text":"a"}],"x":1.0},"id":1})");
  EXPECT_EQ(text, R"({"jsonrpc":"2.0","result":{"content": [{"type":"text","text":"[mcpivot] \"x\""},)"
                  R"({"type":"text","text":"a"}],"x":1.0},"id":9})");
  EXPECT_TRUE(delivered);
  EXPECT_EQ(with_notice(R"({"jsonrpc":"2.0","id":1,"result":{"content":[ ]}})").text,
            R"({"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"[mcpivot] \"x\""} ]}})");
}

TEST(Notice, is_put_before_the_message_of_an_error) {
  EXPECT_EQ(with_notice(R"({"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no","data":[1]}})").text,
            R"({"jsonrpc":"2.0","id":9,"error":{"code":-5,"message":"[mcpivot] \"x\"\n\nno","data":[1]}})");
}

TEST(Notice, stays_due_if_a_client_may_show_only_structured_content) {
  const std::string line = R"({"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":1}}})";
  EXPECT_FALSE(with_notice(line).delivered);
  EXPECT_EQ(with_notice(line).text.find("_mcpivot"), std::string::npos);
  const auto open = with_notice(line, R"({"name":"t","outputSchema":{"type":"object"}})");
  EXPECT_NE(open.text.find(R"("structuredContent":{"_mcpivot":"[mcpivot] \"x\"","a":1})"), std::string::npos);
  const auto closed = with_notice(line, R"({"name":"t","outputSchema":{"additionalProperties":false}})");
  EXPECT_EQ(closed.text.find("_mcpivot"), std::string::npos);
}

std::string with_heading(const std::string& line, std::string_view notice = {}) {
  const Message message = read_message(line).value();
  const NoticeInAnswer words(message, notice, R"({"name":"t","outputSchema":{"type":"object"}})", "whose");
  Edits edits;
  words.add_to(edits);
  return spliced(line, edits.list());
}

TEST(Notice, comes_after_a_heading_in_a_block_of_its_own) {
  EXPECT_EQ(
      with_heading(R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image"}],"isError":true}})"),
      R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"whose"},{"type":"image"}],)"
      R"("isError":true}})");
  EXPECT_EQ(with_heading(R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})", "news"),
            R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"whose"},)"
            R"({"type":"text","text":"news"}]}})");
  EXPECT_EQ(with_heading(R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})"),
            R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"whose"}]}})");
}

TEST(Notice, a_heading_is_added_only_to_content) {
  EXPECT_EQ(with_heading(R"({"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":1}}})"),
            R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"whose"}],)"
            R"("structuredContent":{"a":1}}})");
  for (const char* line :
       {R"({"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}})",
        R"({"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t"}}})",
        R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}})"})
    EXPECT_EQ(with_heading(line), line);
}

TEST(Notice, is_not_added_to_a_result_without_content) {
  const std::string line = R"({"jsonrpc":"2.0","id":9,"result":{"task":{"taskId":"1"}}})";
  EXPECT_EQ(with_notice(line).text, line);
  EXPECT_FALSE(with_notice(line).delivered);
}

TEST(Initialize, capabilities_are_widened_and_nothing_else_is_touched) {
  const std::string result = widened_initialize_result(
      R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{"x":1},"experimental":{"e":{}}},"instructions":"\u0041","n":1.50})");
  EXPECT_TRUE(result.starts_with(R"({"protocolVersion":"2025-06-18","capabilities":{)"));
  EXPECT_TRUE(result.ends_with(R"(},"instructions":"\u0041","n":1.50})"));
  const auto capabilities = boost::json::parse(result).at("capabilities");
  EXPECT_EQ(capabilities, boost::json::parse(R"({"tools":{"x":1,"listChanged":true},"experimental":{"e":{}},
    "prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{}})"));
  EXPECT_TRUE(boost::json::parse(widened_initialize_result(R"({"a":1})")).at("capabilities").is_object());
}

TEST(Initialize, the_gateways_result_tells_the_client_what_is_wrong) {
  const auto result =
      boost::json::parse(gateway_initialize_result(R"({"protocolVersion":"2025-03-26"})", "it \"died\""));
  EXPECT_EQ(result.at("protocolVersion"), "2025-03-26");
  EXPECT_EQ(result.at("instructions"), "it \"died\"");
  EXPECT_TRUE(has_capability(R"({"capabilities":{"tools":{}}})", "tools"));
  EXPECT_FALSE(has_capability(R"({"capabilities":{"tools":{}}})", "prompts"));
}

}  // namespace
}  // namespace mcpivot
