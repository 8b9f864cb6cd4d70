#include "cli/schema_words.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

namespace json = boost::json;

std::string words(const char* schema, const char* root = "{}") {
  const json::value parsed = json::parse(schema);
  return type_text(parsed, json::parse(root).as_object());
}

TEST(SchemaWords, describe_types_enums_and_alternatives) {
  EXPECT_EQ(words(R"({"type": "integer"})"), "integer");
  EXPECT_EQ(words(R"({"type": ["string", "null"]})"), "string or null");
  EXPECT_EQ(words(R"({"type": "array", "items": {"type": "number"}})"), "array of numbers");
  EXPECT_EQ(words(R"({"type": "array"})"), "array");
  EXPECT_EQ(words(R"({"enum": ["a", 1, null]})"), R"("a", 1 or null)");
  EXPECT_EQ(words(R"({"const": "a"})"), R"("a")");
  EXPECT_EQ(words(R"({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]})"),
            "string or integer");
  EXPECT_EQ(words(R"({"properties": {}})"), "object");
  EXPECT_EQ(words("{}"), "any");
  EXPECT_EQ(words("true"), "any");
}

TEST(SchemaWords, follow_references_within_the_schema_without_endless_loops) {
  const char* const root =
      R"({"$defs": {"A": {"type": "string"}, "B": {"$ref": "#/$defs/A"}, "C": {"$ref": "#/$defs/C"}}})";
  EXPECT_EQ(words(R"({"$ref": "#/$defs/B"})", root), "string");
  EXPECT_EQ(words(R"({"$ref": "#/$defs/C"})", root), "any");
  EXPECT_EQ(words(R"({"$ref": "#/$defs/Missing"})", root), "any");
  EXPECT_EQ(words(R"({"$ref": "https://example.com/x"})", root), "any");
}

TEST(SchemaWords, know_which_types_a_value_may_have) {
  auto types = [](const char* schema) { return types_of(json::parse(schema), {}); };
  using Types = std::set<std::string>;
  EXPECT_EQ(types(R"({"anyOf": [{"type": "integer"}, {"enum": ["x"]}, {"const": true}]})"),
            (Types{"boolean", "integer", "string"}));
  EXPECT_EQ(types(R"({"allOf": [{"type": "array"}]})"), Types{"array"});
  EXPECT_EQ(types("{}"), Types{});
}

}  // namespace
}  // namespace mcpivot
