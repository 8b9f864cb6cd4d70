#include "install/json_edit.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

std::string inserted(std::string_view text, const JsonPath& path = {}, std::string_view value = "1") {
  const auto edited = insert_member(text, path, "new", value, JsonLayout::fitting);
  return edited ? *edited : "error: " + edited.error();
}
std::string removed(std::string_view text, std::string_view key, const JsonPath& path = {}) {
  const auto edited = remove_member(text, path, key);
  return edited ? *edited : "error: " + edited.error();
}

TEST(JsonEdit, an_inserted_member_matches_the_existing_layout) {
  EXPECT_EQ(
      inserted("{\n    \"a\": {}\n}\n", {}, R"({"command":"x","args":["y","z"]})"),
      "{\n    \"a\": {},\n    \"new\": {\n        \"command\": \"x\",\n        \"args\": [\"y\", \"z\"]\n"
      "    }\n}\n");
  EXPECT_EQ(inserted("{\n\t\"a\": {}\n}", {"a"}), "{\n\t\"a\": {\n\t\t\"new\": 1\n\t}\n}");
  EXPECT_EQ(inserted("{\"a\":1}", {}, R"({"b":{"c":2}})"), R"({"a":1, "new": {"b": {"c": 2}}})");
  EXPECT_EQ(inserted("{}"), "{\"new\": 1}");
  EXPECT_EQ(inserted("{}\n"), "{\n  \"new\": 1\n}\n");
  EXPECT_EQ(inserted("{ \"a\": 1 }"), "{ \"a\": 1, \"new\": 1 }");
  EXPECT_EQ(inserted("{\r\n  \"a\": 1\r\n}"), "{\r\n  \"a\": 1,\r\n  \"new\": 1\r\n}");
  EXPECT_EQ(inserted("{\n  \"a\": 1,\n}"), "{\n  \"a\": 1,\n  \"new\": 1,\n}")
      << "a trailing comma stays one";
}

TEST(JsonEdit, comments_stay_with_their_member) {
  EXPECT_EQ(inserted("{\n  \"a\": 1 // of a\n}"), "{\n  \"a\": 1, // of a\n  \"new\": 1\n}");
  EXPECT_EQ(inserted("{\n  \"a\": 1, /* of a */ // too\n  // the end\n}"),
            "{\n  \"a\": 1, /* of a */ // too\n  \"new\": 1,\n  // the end\n}");
  EXPECT_EQ(inserted("{ // none yet\n}"), "{ // none yet\n  \"new\": 1\n}");
  EXPECT_EQ(inserted("{\"a\": 1 // of a\n}"), "{\"a\": 1, // of a\n  \"new\": 1\n}");
}

TEST(JsonEdit, a_member_is_removed_with_its_comma_and_its_line) {
  const std::string text = "{\n  \"a\": 1,\n  // of b\n  \"b\": 2,\n  \"c\": 3\n}\n";
  EXPECT_EQ(removed(text, "a"), "{\n  // of b\n  \"b\": 2,\n  \"c\": 3\n}\n");
  EXPECT_EQ(removed(text, "b"), "{\n  \"a\": 1,\n  // of b\n  \"c\": 3\n}\n");
  EXPECT_EQ(removed(text, "c"), "{\n  \"a\": 1,\n  // of b\n  \"b\": 2\n}\n");
  EXPECT_EQ(removed("{\"a\":1,\"b\":2}", "a"), "{\"b\":2}");
  EXPECT_EQ(removed("{\"x\": {\n  \"a\": 1\n}}", "a", {"x"}), "{\"x\": {}}");
}

TEST(JsonEdit, an_edit_never_moves_text_into_a_comment) {
  EXPECT_EQ(removed("{ // c\n \"a\": 1 }", "a"), "{ // c\n  }");
  EXPECT_EQ(removed("{ // c\n \"a\": 1\n}", "a"), "{ // c\n}");
  EXPECT_EQ(removed("{\"a\": 1, // c\n \"b\": 2, \"c\": 3}", "b"), "{\"a\": 1, // c\n  \"c\": 3}");
}

TEST(JsonEdit, a_value_is_replaced_in_place) {
  const auto edited = replace_member("{\"a\" :  1 , \"b\": 2}", {}, "a", "[3]", JsonLayout::fitting);
  EXPECT_EQ(edited.value_or("error"), "{\"a\" :  [3] , \"b\": 2}");
}

TEST(JsonEdit, refuses_an_edit_that_it_cannot_do_well) {
  EXPECT_EQ(inserted("{\"new\": 1}"), "error: \"new\" already exists in the file");
  EXPECT_EQ(inserted("[]"), "error: the file is a list, not an object");
  EXPECT_EQ(inserted("{}", {"a", "b"}), "error: there is no \"a.b\"");
  EXPECT_EQ(removed("{\"a\": 1, \"a\": 2}", "a"), "error: \"a\" appears 2 times in the file; keep one");
  EXPECT_EQ(removed("{}", "a"), "error: there is no \"a\" in the file");
  EXPECT_EQ(inserted("{\n\"a\" 1}").substr(0, 23), "error: line 2, column 5");
}

TEST(JsonEdit, values_are_compared_without_the_order_of_members) {
  auto same = [](const char* one, const char* other) {
    return same_value(*parse_jsonc(one), *parse_jsonc(other));
  };
  EXPECT_TRUE(same(R"({"a": 1, "b": [true, null]})", R"({"b":[true,null],"a":1} // same)"));
  EXPECT_FALSE(same(R"({"a": 1})", R"({"a": 2})"));
  EXPECT_FALSE(same(R"([1, 2])", R"([2, 1])"));
  EXPECT_FALSE(same(R"({"a": 1})", R"({"a": 1, "b": 1})"));
}

}  // namespace
}  // namespace mcpivot
