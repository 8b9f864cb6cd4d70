#include "journal/kept_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mcpivot {
namespace {

RecordedCall call(std::string tool, std::string arguments, std::string answer) {
  RecordedCall made;
  made.server = "notes";
  made.tool = made.called = std::move(tool);
  made.arguments = std::move(arguments);
  made.answer = std::move(answer);
  made.outcome = RecordedCall::Outcome::ok;
  return made;
}

std::string error_in(std::string_view text) {
  const auto parsed = parse_kept_calls(text);
  if (parsed) return "none";
  return std::to_string(parsed.error().line) + ":" + std::to_string(parsed.error().column) + ": " +
         parsed.error().words;
}

TEST(KeptCalls, are_written_sorted_and_readable) {
  const RecordedCall list = call("list", "", R"({"content":[{"type":"text","text":"3 notes"}]})");
  const RecordedCall read = call("read", R"({"id":2})", R"({"content":[]})");
  const std::string text = kept_calls_text({.ignore = {"structuredContent.time"}, .calls = {read, list}});
  EXPECT_EQ(text, R"({
  "version": 1,
  "ignore": ["structuredContent.time"],
  "calls": [
    {
      "server": "notes",
      "tool": "list",
      "result": { "content": [{ "text": "3 notes", "type": "text" }] }
    },
    {
      "server": "notes",
      "tool": "read",
      "arguments": { "id": 2 },
      "result": { "content": [] }
    }
  ]
}
)");
  EXPECT_EQ(kept_calls_text({.ignore = {"structuredContent.time"}, .calls = {list, read}}), text);
}

// Its answer may repeat it as text.
TEST(KeptCalls, what_the_server_gets_keeps_its_order) {
  RecordedCall made = call("ask", R"({"z":1,"a":{"y":2,"b":3}})", R"({"z":1,"a":2})");
  made.asked = {
      {.method = "elicitation/create", .params = {}, .answer = R"({"content":{"name":"x","age":1}})"}};
  const auto read = parse_kept_calls(kept_calls_text({.ignore = {}, .calls = {made}}));
  ASSERT_TRUE(read) << read.error().words;
  EXPECT_EQ(read->calls[0].arguments, made.arguments);
  EXPECT_EQ(read->calls[0].asked, made.asked);
  EXPECT_EQ(read->calls[0].answer, R"({"a":2,"z":1})");
}

TEST(KeptCalls, long_calls_are_written_on_several_lines) {
  const std::string text = kept_calls_text(
      {.ignore = {},
       .calls = {call("t", "", R"({"a":")" + std::string(90, 'x') + R"(","b":[1,2],"c":{}})")}});
  EXPECT_NE(text.find("      \"result\": {\n        \"a\": \"xx"), std::string::npos) << text;
  EXPECT_NE(text.find("\n        \"b\": [1, 2],\n        \"c\": {}\n      }\n"), std::string::npos) << text;
}

TEST(KeptCalls, are_read_as_they_were_written) {
  KeptCalls kept{.ignore = {"content[*].text"}, .calls = {}};
  kept.calls.push_back(
      call("b", R"({"x":[1,{"y":null}],"s":"\n\u00e4"})", R"({"content":[],"isError":true})"));
  kept.calls.push_back(call("a", "", R"({"code":-32602,"message":"no"})"));
  kept.calls[1].is_error = true;
  kept.calls[0].asked = {
      {.method = "elicitation/create", .params = R"({"message":"?"})", .answer = R"({"action":"accept"})"},
      {.method = "roots/list", .params = {}, .answer = R"({"code":-1,"message":"no"})", .is_error = true}};
  const std::string text = kept_calls_text(kept);
  const auto read = parse_kept_calls(text);
  ASSERT_TRUE(read) << read.error().words;
  EXPECT_EQ(kept_calls_text(*read), text);
  EXPECT_EQ(read->ignore, kept.ignore);
  ASSERT_EQ(read->calls.size(), 2U);
  EXPECT_EQ(read->calls[0].tool, "a");
  EXPECT_TRUE(read->calls[0].is_error);
  EXPECT_EQ(read->calls[1].tool, "b");
  EXPECT_TRUE(read->calls[1].tool_failed);
  EXPECT_EQ(read->calls[1].arguments, "{\"x\":[1,{\"y\":null}],\"s\":\"\\nä\"}");
  EXPECT_EQ(read->calls[1].asked, kept.calls[0].asked);
}

TEST(KeptCalls, the_last_answer_to_the_same_call_counts) {
  const auto read =
      parse_kept_calls(kept_calls_text({.ignore = {},
                                        .calls = {call("t", R"({"a":1,"b":2})", R"({"n":1})"),
                                                  call("t", R"({"b":2.0,"a":1})", R"({"n":2})")}}));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->calls.size(), 1U);
  EXPECT_EQ(read->calls[0].answer, R"({"n":2})");
}

TEST(KeptCalls, an_empty_list_is_also_a_file) {
  EXPECT_EQ(kept_calls_text({}), "{\n  \"version\": 1,\n  \"calls\": []\n}\n");
  EXPECT_EQ(error_in(kept_calls_text({})), "none");
}

TEST(KeptCalls, the_file_may_contain_comments) {
  EXPECT_EQ(error_in("{ // mine\n \"calls\": [ {\"tool\": \"t\", \"result\": {}, }, ] }"), "none");
}

TEST(KeptCalls, errors_are_reported_with_line_and_column) {
  EXPECT_EQ(error_in("{\n  \"calls\": [\n    { \"tool\": 3, \"result\": {} }\n  ]\n}"),
            "3:15: \"tool\" must be a string, not a number");
  EXPECT_EQ(error_in("{\"calls\": [{\"result\": {}}]}"), "1:12: \"tool\" is missing: the name of the tool");
  EXPECT_EQ(error_in("{\"calls\": [{\"tool\": \"t\"}]}"),
            "1:12: \"result\" is missing: what the server answered");
  EXPECT_EQ(error_in("{\"calls\": [{\"tool\": \"t\", \"argument\": {}, \"result\": {}}]}"),
            "1:26: \"argument\" isn't a key of this file; did you mean \"arguments\"?");
  EXPECT_EQ(error_in("{\"calls\": [{\"tool\": \"t\", \"result\": {}, \"error\": {}}]}"),
            "1:40: a call has either \"result\" or \"error\", once");
  EXPECT_EQ(error_in(R"({"calls": [{"tool": "t", "result": {}, "redacted": "true"}]})"),
            "1:52: \"redacted\" must be true or false, not a string");
  EXPECT_EQ(error_in(R"({"version": "1", "calls": []})"), "1:13: \"version\" must be a number, not a string");
  EXPECT_EQ(error_in("{\"version\": 2, \"calls\": []}"),
            "1:13: this mcpivot reads version 1 of the file; a newer one wrote it");
  EXPECT_EQ(error_in("{\"ignore\": [\"a[\"], \"calls\": []}"),
            "1:13: \"a[\" isn't a path in an answer: a \"[\" is not closed");
  EXPECT_EQ(error_in("[]"), "1:1: the file must be an object, not a list");
  EXPECT_EQ(error_in("{}"), "1:1: \"calls\" is missing: this isn't a file of kept calls");
  EXPECT_EQ(error_in("{\"calls\": [}").substr(0, 6), "1:12: ");
}

TEST(KeptCalls, calls_nested_too_deeply_to_be_read_again_are_not_kept) {
  const auto nested = [](std::size_t lists) {
    return "{\"a\":" + std::string(lists, '[') + std::string(lists, ']') + "}";
  };
  RecordedCall asking = call("t", nested(199), nested(199));
  asking.asked.push_back({.method = "m", .params = nested(199), .answer = nested(199)});
  EXPECT_EQ(why_not_kept(asking), "");
  const std::string text = kept_calls_text({.ignore = {}, .calls = {asking}});
  EXPECT_EQ(error_in(text), "none");
  EXPECT_EQ(why_not_kept(call("t", nested(200), "{}")),
            "it is nested more than 200 levels deep, which can't be kept");
  EXPECT_NE(why_not_kept(call("t", "", nested(5'000))), "");
}

TEST(KeptCalls, a_missing_file_is_named_in_the_error) {
  const auto read = read_kept_calls("/nonexistent/calls.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "/nonexistent/calls.json cannot be read: No such file or directory");
}

}  // namespace
}  // namespace mcpivot
