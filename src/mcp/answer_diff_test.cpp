#include "mcp/answer_diff.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

Answer result(std::string json) {
  return {.is_error = false, .json = std::move(json)};
}

// The differences, one per line.
std::string diff(const std::string& before, const std::string& after, std::vector<std::string> paths = {}) {
  const auto ignored = IgnoredPaths::parse(paths);
  if (!ignored) return ignored.error();
  std::string text;
  for (const AnswerDifference& one : compare_answers(result(before), result(after), *ignored).first)
    text += one.text() + "\n";
  return text;
}

TEST(AnswerDiff, ignores_member_order_white_space_and_the_spelling_of_numbers) {
  EXPECT_EQ(diff(R"({"a":1,"b":[1.0,2e1]})", R"({ "b": [1, 20], "a": 1.0 })"), "");
}

TEST(AnswerDiff, names_the_path_and_both_values) {
  EXPECT_EQ(diff(R"({"content":[{"type":"text","text":"3 notes"}]})",
                 R"({"content":[{"type":"text","text":"4 notes"}]})"),
            "content[0].text: \"3 notes\" → \"4 notes\"\n");
  EXPECT_EQ(diff(R"({"n":1})", R"({"n":2})"), "n: 1 → 2\n");
  EXPECT_EQ(diff(R"({"n":1})", R"({"n":"1"})"), "n: 1 → \"1\"\n");
  EXPECT_EQ(diff(R"({"n":true,"old":[]})", R"({"n":true,"new":{"a":null}})"),
            "old: - []\nnew: + {\"a\":null}\n");
  EXPECT_EQ(diff(R"({"a b":{"c":1}})", R"({"a b":{"c":2}})"), "[\"a b\"].c: 1 → 2\n");
}

TEST(AnswerDiff, an_added_or_removed_element_is_one_difference) {
  EXPECT_EQ(diff(R"({"l":[1,2,3,4]})", R"({"l":[1,3,4]})"), "l[1]: - 2\n");
  EXPECT_EQ(diff(R"({"l":[1,2]})", R"({"l":[1,2,3]})"), "l[2]: + 3\n");
  EXPECT_EQ(diff(R"({"l":[]})", R"({"l":["a"]})"), "l[0]: + \"a\"\n");
}

TEST(AnswerDiff, text_that_is_json_is_compared_as_such) {
  EXPECT_EQ(diff(R"({"content":[{"text":"{\"a\":1,\"b\":2}"}]})",
                 R"({"content":[{"text":"{ \"b\": 2, \"a\": 1 }"}]})"),
            "");
  EXPECT_EQ(diff(R"({"content":[{"text":"{\"a\":1,\"time\":1}"}]})",
                 R"({"content":[{"text":"{\"a\":2,\"time\":5}"}]})", {"content[*].text.time"}),
            "content[0].text.a: 1 → 2\n");
}

TEST(AnswerDiff, shows_where_a_long_text_differs) {
  const std::string words = std::string(200, 'x') + "\\nsecond line: ";
  EXPECT_EQ(diff("{\"t\":\"" + words + "old\"}", "{\"t\":\"" + words + "new\"}"),
            "t: \"…second line: old\" → \"…second line: new\"\n");
  const std::string shown = diff("{\"t\":\"" + std::string(5000, 'x') + "1\"}",
                                 "{\"t\":\"" + std::string(5000, 'x') + "2" + std::string(5000, 'y') + "\"}");
  EXPECT_LT(shown.size(), 200U);
  EXPECT_NE(shown.find("x1\""), std::string::npos) << shown;
  // Characters stay whole.
  EXPECT_EQ(diff("{\"t\":\"ä\"}", "{\"t\":\"ö\"}"), "t: \"ä\" → \"ö\"\n");
}

TEST(AnswerDiff, an_error_differs_from_a_result_and_errors_have_paths) {
  const Answer error{.is_error = true, .json = R"({"code":-32602,"message":"no such note"})"};
  const AnswerDiff diff = compare_answers(result(R"({"content":[]})"), error);
  ASSERT_EQ(diff.count, 1U);
  EXPECT_EQ(diff.first[0].text(), "a result: {\"content\":[]} → error -32602: \"no such note\"");
  const Answer other{.is_error = true, .json = R"({"code":-32602,"message":"none"})"};
  EXPECT_EQ(compare_answers(error, other).first.at(0).text(), "error.message: \"no such note\" → \"none\"");
  EXPECT_TRUE(compare_answers(error, other, *IgnoredPaths::parse({"error.message"})).same());
}

TEST(AnswerDiff, members_that_belong_to_the_era_are_ignored) {
  EXPECT_EQ(
      diff(R"({"content":[]})",
           R"({"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{}}})"),
      "");
  EXPECT_EQ(diff(R"({"_meta":{"x":1}})", R"({"_meta":{"x":2}})"), "_meta.x: 1 → 2\n");
  EXPECT_NE(diff(R"({"content":[]})", R"({"content":[],"resultType":"input_required"})"), "");
}

TEST(AnswerDiff, many_differences_are_counted_and_only_the_first_shown) {
  std::string before = "{\"a\":0";
  std::string after = "{\"a\":0";
  for (int i = 0; i < 100; ++i) {
    before += ",\"k" + std::to_string(i) + "\":1";
    after += ",\"k" + std::to_string(i) + "\":2";
  }
  const AnswerDiff diff = compare_answers(result(before + "}"), result(after + "}"));
  EXPECT_EQ(diff.count, 100U);
  EXPECT_EQ(diff.first.size(), 20U);
}

TEST(AnswerDiff, too_deeply_nested_values_are_compared_as_text) {
  const std::string deep = std::string(500, '[') + std::string(500, ']');
  EXPECT_TRUE(compare_answers(result(deep), result(deep)).same());
  EXPECT_FALSE(compare_answers(result(deep), result(" " + deep)).same());
}

TEST(IgnoredPaths, match_what_they_name_and_everything_below) {
  const std::string before = R"({"s":{"time":1,"a":[{"id":1,"x":{"id":1}}]},"t":{"time":1}})";
  const std::string after = R"({"s":{"time":2,"a":[{"id":2,"x":{"id":2}}]},"t":{"time":2}})";
  EXPECT_EQ(diff(before, after, {"s"}), "t.time: 1 → 2\n");
  EXPECT_EQ(diff(before, after, {"s.time", "s.a[*].id", "s.a[0].x"}), "t.time: 1 → 2\n");
  EXPECT_EQ(diff(before, after, {"*.time"}), "s.a[0].id: 1 → 2\ns.a[0].x.id: 1 → 2\n");
  EXPECT_EQ(diff(before, after, {"**.id", "**.time"}), "");
  EXPECT_EQ(diff(before, after, {"s.a[1].id", "s.a[1].x", "**.time", "s.a[0].x"}), "s.a[0].id: 1 → 2\n");
  EXPECT_EQ(diff(R"({"a.b":1})", R"({"a.b":2})", {R"(["a.b"])"}), "");
  // A member that exists only once also counts as below the path.
  EXPECT_EQ(diff(R"({"s":{}})", R"({"s":{"time":1}})", {"s.time"}), "");
}

TEST(IgnoredPaths, that_are_invalid_are_rejected_with_the_reason) {
  for (const char* path : {"", ".", "a.", "a..b", "a[", "a[x]", "a[\"x]", "[-1]"}) {
    const auto parsed = IgnoredPaths::parse({path});
    ASSERT_FALSE(parsed) << path;
    EXPECT_NE(parsed.error().find(std::string("\"") + path + "\" isn't a path"), std::string::npos);
  }
}

TEST(CanonicalJson, is_the_same_for_all_spellings_of_a_value) {
  EXPECT_EQ(canonical_json(R"({ "b": 1.0, "a": [ "x", {} ], "c": 0.5 })"), R"({"a":["x",{}],"b":1,"c":0.5})");
  EXPECT_EQ(canonical_json(R"({"a":1e2})"), canonical_json(R"({"a":100})"));
  EXPECT_EQ(canonical_json("no json"), "no json");
}

}  // namespace
}  // namespace mcpivot
