// What a message is, by example. The properties that must hold for every message are in
// message_property_test.cpp.
#include "rpc/message.h"

#include <gtest/gtest.h>

#include "rpc/edit.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

Refusal refused(std::string_view line) {
  auto message = read_message(line);
  if (!message) return message.error();
  ADD_FAILURE() << "accepted: " << line;
  return {};
}

TEST(Message, a_request_exposes_what_determines_its_route) {
  const auto message = read_message(
      R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","uri":"u:1","_meta":{"progressToken":"t"},"requestId":3,"task":{}}})");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, Kind::request);
  EXPECT_EQ(message->text(message->id), "7");
  EXPECT_EQ(message->text(message->method), R"("tools/call")");
  EXPECT_EQ(message->text(message->name), R"("x")");
  EXPECT_EQ(message->text(message->uri), R"("u:1")");
  EXPECT_EQ(message->text(message->progress_token), R"("t")");
  EXPECT_EQ(message->text(message->request_id), "3");
  EXPECT_TRUE(message->task);
}

TEST(Message, the_kinds_of_messages_are_distinguished) {
  auto kind = [](std::string_view line) { return read_message(line).value().kind; };
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":"a","method":"m"})"), Kind::request);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","method":"m"})"), Kind::notification);
  EXPECT_EQ(kind(R"({"result":{},"jsonrpc":"2.0","id":1})"), Kind::result);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}})"), Kind::error);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","error":{"code":1,"message":""}})"), Kind::error);
}

TEST(Message, the_id_may_be_anywhere_in_any_spelling) {
  for (const std::string id :
       {"1", "-5", "0", R"("1")", R"("listen:0")", R"("")", "9007199254740993", "1.0", R"("é")"}) {
    const std::string first = R"({"id":)" + id + R"(,"jsonrpc":"2.0","method":"m"})";
    const std::string last = R"( { "jsonrpc" : "2.0", "method" : "m", "id" : )" + id + " } ";
    EXPECT_EQ(read_message(first)->text(read_message(first)->id), id);
    EXPECT_EQ(read_message(last)->text(read_message(last)->id), id);
  }
}

TEST(Message, escaped_keys_and_methods_are_decoded) {
  const auto message = read_message(
      R"({"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"notifications\/cancelled","params":{"request\u0049d":5}})");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text(message->id), "1");
  EXPECT_EQ(message->known, Method::cancelled);
  EXPECT_EQ(message->text(message->request_id), "5");
}

TEST(Message, ambiguous_keys_are_rejected) {
  for (
      const char* line : {
          R"({"jsonrpc":"2.0","id":1,"id":2,"method":"m"})",
          R"({"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"})",
          R"({"jsonrpc":"2.0","id":1,"ID":2,"method":"m"})",
          R"({"jsonrpc":"2.0","Id":2,"method":"m"})",
          R"({"jsonrpc":"2.0","id":1,"method":"a","method":"b"})",
          R"({"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}})",
          R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}})",
          R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"a","name":"b"}})",
          R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":2}}})",
          R"({"jsonrpc":"2.0","id":1,"result":{},"result":{}})",
      }) {
    EXPECT_EQ(refused(line).code, Refusal::not_a_message) << line;
  }
  // Keys that we don't interpret are the server's business, and so is everything nested deeper.
  EXPECT_TRUE(read_message(
      R"({"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2,"params":{"arguments":{"a":1,"a":2}}})"));
  EXPECT_TRUE(read_message(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"Name":"a"}})"));
}

TEST(Message, a_rejection_names_the_messages_id_if_that_is_certain) {
  EXPECT_EQ(refused(R"({"id":"x","method":"m"})").id, R"("x")");
  EXPECT_EQ(refused(R"({"jsonrpc":"1.0","id":4,"method":"m"})").id, "4");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"m"})").id, "");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":null,"method":"m"})").id, "");
  EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":{},"method":"m"})").id, "");
}

TEST(Message, invalid_json_is_rejected_as_such) {
  for (const char* line :
       {"hello", "{", "{}x", R"({"a":1,})", R"({"a":01})", R"({"a":1.})", R"({"a":+1})", R"({"a":tru})",
        R"({"a":"\x"})", R"({"a":"\u12"})", "{\"a\":\"\x01\"}", R"({"a" 1})", R"({a:1})", "[1,2", "\"x",
        "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", "{\"jsonrpc\":\"2.0\",\"method\":\"\xc3\"}",
        R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"deep":[[[nul]]]}})"}) {
    EXPECT_EQ(refused(line).code, Refusal::not_json) << line;
  }
}

TEST(Message, json_that_is_not_a_message_is_rejected_as_such) {
  for (const char* line :
       {"1", "\"x\"", "null", "{}", R"({"jsonrpc":"2.0"})", R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","id":1,"method":3})", R"({"jsonrpc":"2.0","id":1,"method":"m","result":1})",
        R"({"jsonrpc":"2.0","result":1})", R"({"jsonrpc":"2.0","id":1,"result":1,"error":null})",
        R"({"jsonrpc":"2.0","id":1,"method":"m","params":5})", R"({"level":30,"msg":"a log line"})"}) {
    EXPECT_EQ(refused(line).code, Refusal::not_a_message) << line;
  }
}

TEST(Message, nesting_is_bounded) {
  auto nested = [](int depth) {
    return R"({"jsonrpc":"2.0","method":"m","params":{"x":)" +
           std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}}";
  };
  EXPECT_TRUE(read_message(nested(1022)));
  EXPECT_EQ(refused(nested(1023)).code, Refusal::not_json);
  EXPECT_EQ(refused(nested(1'000'000)).code, Refusal::not_json);
}

TEST(Message, the_position_of_a_progress_token_depends_on_the_method) {
  const auto progress = read_message(
      R"({"jsonrpc":"2.0","params":{"progressToken":9,"progress":1},"method":"notifications/progress"})");
  EXPECT_EQ(progress->text(progress->progress_token), "9");
  const auto call =
      read_message(R"({"jsonrpc":"2.0","id":1,"params":{"progressToken":9},"method":"tools/call"})");
  EXPECT_FALSE(call->progress_token);
}

TEST(Message, a_result_says_whether_the_tool_failed) {
  const auto fails = [](const std::string& result) {
    const std::string line = R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}";
    const auto message = read_message(line);
    EXPECT_TRUE(message) << result;
    EXPECT_EQ(message->text(message->result), result);
    return message->is_error;
  };
  for (const char* failed :
       {R"({"isError":true})", R"({"content":[{"a":{}}], "isError" : true , "_meta":{}})",
        R"({"is\u0045rror":true})"})
    EXPECT_TRUE(fails(failed)) << failed;
  for (const char* fine :
       {"{}", "[]", "7", R"({"isError":false})", R"({"isError":"true"})", R"({"iserror":true})",
        R"({"structuredContent":{"isError":true}})", R"({"content":[{"text":"\"isError\":true"}]})"})
    EXPECT_FALSE(fails(fine)) << fine;
}

TEST(Message, a_batch_is_split_into_messages) {
  EXPECT_TRUE(is_batch(" [1]"));
  EXPECT_FALSE(is_batch("{}"));
  const auto elements = read_batch(R"([{"a":[1]}, "x" ,3])");
  ASSERT_TRUE(elements);
  EXPECT_EQ(*elements, (std::vector<std::string_view>{R"({"a":[1]})", R"("x")", "3"}));
  EXPECT_EQ(read_batch("[]").error().code, Refusal::not_a_message);
  EXPECT_EQ(read_batch("[1").error().code, Refusal::not_json);
}

TEST(Message, ids_are_compared_by_value_not_by_spelling) {
  EXPECT_TRUE(same_id(R"("a")", R"("\u0061")"));
  EXPECT_FALSE(same_id(R"("1")", "1"));
  EXPECT_FALSE(same_id("1", "2"));
}

TEST(Edits, are_kept_in_order_of_position) {
  const std::string raw = "0123456789";
  Edits edits;
  edits.replace({7, 2}, "x").replace({1, 1}, "yy").replace({}, "never");
  EXPECT_EQ(spliced(raw, edits.list()), "0yy23456x9");
}

TEST(Message, a_value_that_is_not_a_string_has_no_text) {
  for (const std::string_view other : {"", "7", "20250618", "null", "[1]", "{}"})
    EXPECT_EQ(string_value(other), "") << other;
}

TEST(Message, half_a_surrogate_pair_becomes_the_replacement_character) {
  EXPECT_EQ(string_value(R"("a\ud800b")"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(string_value(R"("\udc00")"), "\xEF\xBF\xBD");
  EXPECT_EQ(string_value(R"("\ud83d\ude00")"), "\xF0\x9F\x98\x80");
}

TEST(Json, a_container_with_only_whitespace_is_empty) {
  for (const std::string_view empty : {"{}", "[]", "{ \t\r\n}", "[ ]"})
    EXPECT_TRUE(is_empty_container(empty)) << empty;
  for (const std::string_view full : {R"({"a":{}})", "[{}]", "[[]]", "[ 1 ]"})
    EXPECT_FALSE(is_empty_container(full)) << full;
}

}  // namespace
}  // namespace mcpivot
