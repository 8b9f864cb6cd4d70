#include "config/jsonc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::HasSubstr;
using Kind = JsoncValue::Kind;

std::string error_of(std::string_view text) {
  const auto value = parse_jsonc(text);
  if (value) return "no error";
  const JsoncPlace& place = value.error().place;
  return std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + value.error().words;
}

TEST(Jsonc, accepts_comments_trailing_commas_and_a_byte_order_mark) {
  const auto value =
      parse_jsonc("\xEF\xBB\xBF// first\n{ /* a */ \"a\": [1, 2 /*,3*/ ,], // b\n \"b\": {},}\n// end");
  ASSERT_TRUE(value) << value.error().words;
  ASSERT_EQ(value->members.size(), 2U);
  EXPECT_EQ(value->find("a")->elements.size(), 2U);
  EXPECT_EQ(value->find("b")->kind, Kind::object);
  EXPECT_EQ(value->find("c"), nullptr);
}

TEST(Jsonc, comment_markers_in_a_string_are_text) {
  const auto value = parse_jsonc(R"(["http://a/*b*/", "//"])");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->elements[0].text, "http://a/*b*/");
  EXPECT_EQ(value->elements[1].text, "//");
}

TEST(Jsonc, keys_and_values_know_their_position) {
  const std::string text = "\xEF\xBB\xBF{\r\n  \"é漢\": 12.50, \"b\" : [ \"x\",\n\ttrue ] }";
  const auto value = parse_jsonc(text);
  ASSERT_TRUE(value) << value.error().words;
  auto slice = [&](const JsoncPlace& place) { return text.substr(place.begin, place.end - place.begin); };
  const JsoncMember& first = value->members[0];
  const JsoncMember& second = value->members[1];
  EXPECT_EQ(slice(first.place), "\"é漢\"");
  EXPECT_EQ(slice(first.value.place), "12.50");
  EXPECT_EQ(first.value.text, "12.50") << "a number is kept as it is spelled";
  EXPECT_EQ(slice(second.value.place), "[ \"x\",\n\ttrue ]");
  EXPECT_EQ(slice(value->place), text.substr(3));
  EXPECT_EQ(first.place.line, 2U);
  EXPECT_EQ(first.place.column, 3U);
  EXPECT_EQ(first.value.place.column, 9U) << "columns are characters, not bytes";
  EXPECT_EQ(second.value.elements[1].place.line, 3U);
  EXPECT_EQ(second.value.elements[1].place.column, 2U);
}

TEST(Jsonc, strings_are_decoded) {
  const auto value = parse_jsonc(R"(["\"\\\/\b\f\n\r\t", "\u00e9\u6f22\ud83d\ude00", "\u0000"])");
  ASSERT_TRUE(value) << value.error().words;
  EXPECT_EQ(value->elements[0].text, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(value->elements[1].text, "é漢😀");
  EXPECT_EQ(value->elements[2].text, std::string(1, '\0'));
}

TEST(Jsonc, a_duplicate_key_is_kept_twice) {
  const auto value = parse_jsonc(R"({"a": 1, "a": 2})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->members.size(), 2U);
  EXPECT_EQ(value->find("a")->text, "1");
}

TEST(Jsonc, an_error_names_the_position_and_what_was_expected) {
  struct Case {
    std::string_view text;
    std::string_view place;
    std::string_view words;
  };
  const Case cases[] = {
      {"", "1:1: ", "expected a value, found the end of the file"},
      {"  // nothing\n", "2:1: ", "expected a value, found the end of the file"},
      {"{\n  \"a\": 1\n  \"b\": 2\n}", "3:3: ", "expected ',' or '}', found '\"'"},
      {"[1 2]", "1:4: ", "expected ',' or ']', found '2'"},
      {"{\"a\" 1}", "1:6: ", "expected ':' after the key \"a\", found '1'"},
      {"{a: 1}", "1:2: ", "expected a key in double quotes, found 'a'"},
      {"{,}", "1:2: ", "expected a key in double quotes or '}', found ','"},
      {"[,]", "1:2: ", "expected a value, found ','"},
      {"[1,,2]", "1:4: ", "expected a value, found ','"},
      {"{\"a\":}", "1:6: ", "expected a value, found '}'"},
      {"{'a': 1}", "1:2: ", "expected a key in double quotes"},
      {"['a']", "1:2: ", "double quotes"},
      {"[True]", "1:2: ", "write true"},
      {"[None]", "1:2: ", "write null"},
      {"[hello]", "1:2: ", "a string needs double quotes"},
      {"{\"a\": {\n", "2:1: ", "the '{' of line 1, column 7 is not closed; expected '}'"},
      {"{\"a\": 1", "1:8: ", "the '{' of line 1, column 1 is not closed"},
      {"[1] x", "1:5: ", "expected the end of the file, found 'x'"},
      {"[1] /* x", "1:5: ", "this comment is not closed"},
      {"[1] / 2", "1:5: ", "expected the end of the file, found '/'"},
      {"[\n\"abc", "2:1: ", "this string is not closed"},
      {"[\"abc\n\"]", "1:2: ", "not closed on its line"},
      {"[\"a\tb\"]", "1:4: ", "\\t"},
      {"[\"C:\\Users\"]", "1:5: ", "a backslash itself is written twice"},
      {"[\"\\u12g4\"]", "1:3: ", "four hexadecimal digits"},
      {"[\"\\ud800\"]", "1:3: ", "half a character"},
      {"[\"\\ude00\\ud800\"]", "1:3: ", "half a character"},
      {"[01]", "1:2: ", "must not begin with 0"},
      {"[1.]", "1:2: ", "a digit must follow the '.'"},
      {"[1e]", "1:2: ", "a digit must follow the 'e'"},
      {"[-]", "1:2: ", "a digit must follow the '-'"},
      {"[30s]", "1:2: ", "double quotes"},
      {"[0x10]", "1:2: ", "isn't a JSON number"},
      {"[+1]", "1:2: ", "expected a value"},
      {"[.5]", "1:2: ", "expected a value"},
      {"[\"\xFF\"]", "1:3: ", "save the file as UTF-8"},
      {"[\"\xC0\x80\"]", "1:3: ", "UTF-8"},
      {"[\"\xED\xA0\x80\"]", "1:3: ", "UTF-8"},
      {"// \xFF\n1", "1:4: ", "UTF-8"},
      {"\xFF\xFE{\0}\0", "1:1: ", "UTF-16"},
      {std::string_view("[\0]", 3), "1:2: ", "control character 0x00"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    EXPECT_THAT(error_of(one.text), testing::StartsWith(one.place));
    EXPECT_THAT(error_of(one.text), HasSubstr(one.words));
  }
}

TEST(Jsonc, an_exceeded_limit_is_named_in_the_error) {
  EXPECT_TRUE(parse_jsonc(std::string(200, '[') + std::string(200, ']')));
  EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("1:201: nested too deeply"));
  EXPECT_THAT(parse_jsonc("[1,2,3]", {.bytes = 6}).error().words, HasSubstr("7 bytes; at most 6"));
  EXPECT_TRUE(parse_jsonc("[1,2,3]", {.bytes = 7, .values = 4}));
  EXPECT_THAT(parse_jsonc("[1,2,3,4]", {.values = 4}).error().words, HasSubstr("more than 4 values"));
}

}  // namespace
}  // namespace mcpivot
