#include "schema/schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "schema/pattern.h"
#include "schema/uri.h"

namespace mcpivot::schema {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Strings = std::vector<std::string>;

json::value parsed(std::string_view text) {
  json::parse_options options;
  options.max_depth = 100'000;
  return json::parse(text, {}, options);
}

Strings problems(std::string_view schema, std::string_view value) {
  const auto compiled = Schema::compile(parsed(schema));
  if (!compiled) return {"no schema: " + compiled.error()};
  return compiled->check(parsed(value)).problems;
}

std::string error_of(std::string_view schema) {
  const auto compiled = Schema::compile(parsed(schema));
  return compiled ? "none" : compiled.error();
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Schema, problems_say_what_is_expected_in_words) {
  const auto of = [](std::string_view schema, std::string_view value) {
    const Strings all = problems(schema, value);
    return all.size() == 1 ? all.front() : "not one problem: " + testing::PrintToString(all);
  };
  EXPECT_EQ(of(R"({"type":"integer","minimum":1,"maximum":100})", R"("many")"),
            R"(the value: expected an integer from 1 to 100, got "many")");
  EXPECT_EQ(of(R"({"type":["integer","null"],"exclusiveMinimum":0.5,"multipleOf":2})", "3"),
            "the value: expected an integer greater than 0.5 and that is a multiple of 2 or null, got 3");
  EXPECT_EQ(of(R"({"type":"string","minLength":2,"maxLength":3})", R"("äöüß")"),
            R"(the value: expected a string of 2 to 3 characters, got "äöüß")");
  EXPECT_EQ(
      of(R"({"items":{"type":"string"},"maxItems":1,"uniqueItems":true})", R"(["a","b"])"),
      R"(the value: expected an array of at most 1 item, without duplicates, each a string, got ["a","b"])");
  EXPECT_EQ(of(R"({"const":{"a":[1.5]}})", "1.0"), R"(the value: expected {"a":[1.5E0]}, got 1.0)");
  EXPECT_EQ(of(R"({"not":{"type":"string"}})", R"("a")"),
            R"(the value: expected anything but a string, got "a")");
  EXPECT_EQ(of(R"({"properties":{"a b":{"required":["c"]}}})", R"({"a b":{}})"), "\"a b\".c: is missing");
  EXPECT_EQ(of(R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})"), "b: is missing, and \"a\" needs it");
  EXPECT_EQ(of(R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})"),
            R"(the name abc: expected a string of at most 2 characters, got "abc")");
  EXPECT_EQ(of(R"({"contains":{"type":"integer"},"minContains":2})", R"([1,"a"])"),
            "the value: expected at least 2 of its items to be an integer, but 1 is");
  EXPECT_EQ(of(R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", "3"),
            "the value: matches more than one of 2 alternatives, and must match exactly one; got 3");
  EXPECT_EQ(
      of(R"({"properties":{"x":{"additionalProperties":false,"properties":{"a":{}}}}})", R"({"x":{"b":1}})"),
      "x.b: there is no such property; there are: a");
  EXPECT_EQ(of(R"({"properties":{"x":false}})", R"({"x":1})"), "x: is not allowed here");
}

TEST(Schema, the_problem_shown_is_that_of_the_closest_alternative) {
  const char* shapes = R"({"properties":{"shape":{"anyOf":[{"type":"string"},
      {"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
      {"type":"object","properties":{"kind":{"const":"box"},"width":{"type":"number"},"height":{"type":"number"}},
       "required":["kind","width","height"]}]}}})";
  EXPECT_THAT(
      problems(shapes, R"({"shape":{"kind":"circle","radius":"big"}})"),
      ElementsAre(
          R"(shape.radius: expected a number, got "big" (or match another of the 3 alternatives for shape))"));
  EXPECT_THAT(problems(shapes, R"({"shape":1})"),
              ElementsAre(HasSubstr("shape: expected a string or an object with \"kind\"")));
}

TEST(Schema, a_keyword_with_a_value_of_the_wrong_type_is_an_error_that_names_its_place) {
  EXPECT_EQ(error_of(R"({"properties":{"x":{"minimum":"x"}}})"),
            R"("minimum" must be a number, not "x" (at #/properties/x))");
  EXPECT_EQ(error_of(R"({"minLength":-1})"), R"("minLength" must be a whole number of 0 or more, not -1)");
  for (const char* schema : {"1",
                             R"({"type":[]})",
                             R"({"type":"text"})",
                             R"({"type":1})",
                             R"({"enum":1})",
                             R"({"required":true})",
                             R"({"required":[1]})",
                             R"({"properties":[]})",
                             R"({"properties":{"x":1}})",
                             R"({"items":"x"})",
                             R"({"allOf":{}})",
                             R"({"not":[]})",
                             R"({"pattern":1})",
                             R"({"multipleOf":0})",
                             R"({"multipleOf":"2"})",
                             R"({"uniqueItems":1})",
                             R"({"maxItems":1.5})",
                             R"({"$ref":1})",
                             R"({"$id":1})",
                             R"({"$anchor":1})",
                             R"({"dependentRequired":{"a":"b"}})",
                             R"({"dependencies":{"a":1}})",
                             R"({"$defs":{"a":1}})",
                             R"({"prefixItems":[true],"items":[true]})",
                             R"({"$schema":1})",
                             R"({"patternProperties":{"a":1}})",
                             R"({"$ref":"#/nowhere"})",
                             R"({"$ref":"#nowhere"})"})
    EXPECT_NE(error_of(schema), "none") << schema;
}

TEST(Schema, numbers_are_compared_exactly) {
  EXPECT_THAT(problems(R"({"maximum":9007199254740992})", "9007199254740993"), SizeIs(1));
  EXPECT_THAT(problems(R"({"const":18446744073709551615})", "18446744073709551614"), SizeIs(1));
  EXPECT_THAT(problems(R"({"minimum":-9223372036854775808})", "-9223372036854775808"), IsEmpty());
  EXPECT_THAT(problems(R"({"type":"integer"})", "123456789012345678901234567890"), IsEmpty());
  EXPECT_THAT(problems(R"({"enum":[1]})", "1.0"), IsEmpty());
  for (const char* unit : {"0.01", "0.1", "0.0001", "1e-10"})
    EXPECT_THAT(problems(R"({"multipleOf":)" + std::string(unit) + "}", "19.9"), IsEmpty()) << unit;
  EXPECT_THAT(problems(R"({"multipleOf":0.3})", "0.9"), IsEmpty());
  EXPECT_THAT(problems(R"({"multipleOf":0.3})", "1"), SizeIs(1));
  EXPECT_THAT(problems(R"({"multipleOf":100})", "1e20"), IsEmpty());
  EXPECT_THAT(problems(R"({"multipleOf":7})", "-9223372036854775808"), SizeIs(1));
}

TEST(Schema, patterns_are_read_as_ECMA_262_over_code_points) {
  const auto found = [](std::string_view pattern, std::string_view text) {
    const Pattern compiled(pattern);
    EXPECT_TRUE(compiled.understood()) << pattern;
    return compiled.find_in(text) == Pattern::Match::yes;
  };
  EXPECT_TRUE(found("^.$", "ü") && found("^.$", "🐲") && found("^[ä-ü]{2}$", "öü"));
  EXPECT_TRUE(found(R"(^[\u4e00-\u9fa5]+$)", "中文") && found(R"(^\ud83d\udc32$)", "🐲") &&
              found(R"(^\u{1F432}$)", "🐲"));
  EXPECT_FALSE(found("^a$", "b\na") || found("^a$", "a\nb") || found("^a$", "a\n") || found("^.$", "\n"));
  EXPECT_TRUE(found("^[^]$", "\n") && !found("[]", "a") && found("^[[:alpha:]]$", ":]"));
  EXPECT_TRUE(found(R"(^\A\<$)", "A<") && !found(R"(^\d$)", "٣") && !found(R"(^\w$)", "ü"));
  EXPECT_TRUE(found("^(?=.*[A-Z])(?!.*x).{3}$", "aBc") && found(R"(^(a)\1$)", "aa") &&
              found("(?<year>\\d{4})", "2024"));
  for (const char* unknown : {R"(\p{L})", "(", R"(\u12)", R"(\u{110000})", "\\"})
    EXPECT_FALSE(Pattern(unknown).understood()) << unknown;
}

TEST(Schema, an_unsupported_pattern_is_reported_and_excludes_nothing) {
  const auto schema = Schema::compile(parsed(
      R"({"patternProperties":{"^\\p{L}$":{"type":"integer"}},"additionalProperties":false,"properties":{"x":{"pattern":"\\p{L}"}}})"));
  ASSERT_TRUE(schema);
  EXPECT_THAT(schema->notes(), SizeIs(2));
  EXPECT_TRUE(schema->check(parsed(R"({"é":1,"x":"y"})")).fits());
}

TEST(Schema, references_are_resolved_according_to_RFC_3986) {
  const char* base = "http://a/b/c/d;p?q";
  for (const auto& [reference, resolved] : std::vector<std::pair<const char*, const char*>>{
           {"g", "http://a/b/c/g"},     {"./g", "http://a/b/c/g"},    {"g/", "http://a/b/c/g/"},
           {"/g", "http://a/g"},        {"//g", "http://g"},          {"?y", "http://a/b/c/d;p?y"},
           {"g?y", "http://a/b/c/g?y"}, {"#s", "http://a/b/c/d;p?q"}, {"", "http://a/b/c/d;p?q"},
           {".", "http://a/b/c/"},      {"..", "http://a/b/"},        {"../g", "http://a/b/g"},
           {"../../g", "http://a/g"},   {"../../../g", "http://a/g"}, {"/./g", "http://a/g"},
           {"/../g", "http://a/g"},     {"./g/.", "http://a/b/c/g/"}, {"g/../h", "http://a/b/c/h"},
           {"http:g", "http:g"},        {"urn:x:y", "urn:x:y"}})
    EXPECT_EQ(resolve_uri(base, reference), resolved) << reference;
  EXPECT_EQ(fragment_of("a#/%24defs/x%25y"), "/$defs/x%y");
}

TEST(Schema, deep_nesting_is_rejected_instead_of_overflowing_the_stack) {
  const std::string deep = repeated(R"({"not":)", 50'000) + "true" + repeated("}", 50'000);
  EXPECT_THAT(error_of(deep), HasSubstr("nested more than 256 levels deep"));
  const std::string arrays = repeated("[", 50'000) + repeated("]", 50'000);
  EXPECT_THAT(problems(R"({"items":{"$ref":"#"}})", arrays),
              ElementsAre(HasSubstr("more than 256 levels deep")));
  EXPECT_THAT(problems(R"({"items":{"$ref":"#"}})", repeated("[", 256) + repeated("]", 256)), IsEmpty());
  // As deep as both may be, at once: each level of the value goes through all levels of the schema.
  const std::string schema =
      R"({"items":)" + repeated(R"({"allOf":[)", 100) + R"({"$ref":"#"})" + repeated("]}", 100) + "}";
  const std::string value = repeated("[", 255) + "[]" + repeated("]", 255);
  EXPECT_THAT(problems(schema, value), ElementsAre(HasSubstr("cannot be checked")));
  // A chain of references is as long as the document.
  std::string chain;
  for (int i = 0; i < 20'000; ++i) chain += fmt::format(R"("{}":{{"$ref":"#/$defs/{}"}},)", i, i + 1);
  EXPECT_THAT(problems(R"({"$ref":"#/$defs/0","$defs":{)" + chain + R"("20000":{"type":"null"}}})", "null"),
              ElementsAre(HasSubstr("cannot be checked")));
}

TEST(Schema, exponentially_many_alternatives_are_given_up) {
  // Each level of the value is tried twice: 2^200 ways.
  const char* twice =
      R"({"anyOf":[{"items":{"$ref":"#"},"minItems":1},{"items":{"$ref":"#"},"minItems":1}]})";
  const auto schema = Schema::compile(parsed(twice));
  ASSERT_TRUE(schema);
  const Verdict verdict = schema->check(parsed(repeated("[", 200) + repeated("]", 200)));
  EXPECT_TRUE(verdict.given_up);
  EXPECT_THAT(verdict.problems, ElementsAre(HasSubstr("takes too long")));
  const auto negated = Schema::compile(parsed(R"({"not":{"$ref":"#/$defs/t"},"$defs":{"t":{"anyOf":[
      {"items":{"$ref":"#/$defs/t"},"minItems":1},{"items":{"$ref":"#/$defs/t"},"minItems":1}]}}})"));
  ASSERT_TRUE(negated);
  EXPECT_FALSE(negated->check(parsed(repeated("[", 200) + repeated("]", 200))).fits())
      << "what isn't known is not taken for a fit";
}

TEST(Schema, many_items_are_compared_quickly) {
  std::string numbers = "[0";
  for (int i = 1; i < 200'000; ++i) numbers += "," + std::to_string(i);
  EXPECT_THAT(problems(R"({"uniqueItems":true})", numbers + "]"), IsEmpty());
  EXPECT_THAT(problems(R"({"uniqueItems":true})", numbers + ",7.0]"), SizeIs(1));
}

TEST(Schema, a_large_value_gets_a_larger_budget) {
  const std::string integers = R"({"items":{"type":"integer"}})";
  const std::string schema = R"({"allOf":[)" + integers + repeated("," + integers, 9) + "]}";
  const std::string value = "[0" + repeated(",1", 200'000) + "]";
  EXPECT_THAT(problems(schema, value), IsEmpty());
}

TEST(Schema, an_unknown_dialect_is_reported) {
  const auto schema = Schema::compile(parsed(R"({"$schema":"http://example.com/mine"})"));
  ASSERT_TRUE(schema);
  EXPECT_THAT(schema->notes(), ElementsAre(HasSubstr("http://example.com/mine")));
}

}  // namespace
}  // namespace mcpivot::schema
