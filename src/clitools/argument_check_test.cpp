#include "clitools/argument_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Strings = std::vector<std::string>;

Strings problems(std::string_view schema, std::string_view arguments, bool closed = true) {
  const auto check = ArgumentCheck::compile(schema, closed);
  if (!check) return {"no schema: " + check.error()};
  return (*check)->problems(Arguments(arguments));
}

Strings notes(std::string_view schema) {
  const auto check = ArgumentCheck::compile(schema, true);
  return check ? (*check)->notes() : Strings{"no schema: " + check.error()};
}

// The schema of one parameter, x, and the problems of one value for it.
Strings of_x(const std::string& schema, const std::string& value) {
  return problems(R"({"type":"object","properties":{"x":)" + schema + "}}", "{\"x\":" + value + "}");
}

TEST(ArgumentCheck, accepts_matching_arguments) {
  EXPECT_THAT(of_x(R"({"type":"string"})", R"("a")"), IsEmpty());
  EXPECT_THAT(of_x(R"({"type":["integer","null"]})", "null"), IsEmpty());
  EXPECT_THAT(of_x(R"({"type":"number"})", "123456789012345678901234567890"), IsEmpty());
  EXPECT_THAT(of_x(R"({"type":"array","items":{"enum":["a","b"]}})", R"(["b","a"])"), IsEmpty());
  EXPECT_THAT(problems("{}", "{}"), IsEmpty());
  EXPECT_THAT(problems(R"({"type":"object"})", ""), IsEmpty());
}

TEST(ArgumentCheck, names_the_parameter_the_expected_type_and_the_actual_value) {
  EXPECT_THAT(of_x(R"({"type":"integer","description":"noise"})", R"("many")"),
              ElementsAre(R"(x: expected an integer, got "many")"));
  EXPECT_THAT(of_x(R"({"enum":["a","b"]})", R"("c")"),
              ElementsAre(R"(x: expected one of "a", "b", got "c")"));
  EXPECT_THAT(of_x(R"({"type":"integer","minimum":1})", "0"),
              ElementsAre("x: expected an integer of at least 1, got 0"));
  EXPECT_THAT(of_x(R"({"exclusiveMinimum":1})", "1"), SizeIs(1));
  EXPECT_THAT(of_x(R"({"type":"string","minLength":2})", R"("ü")"), SizeIs(1));
  EXPECT_THAT(of_x(R"({"const":5})", "6"), SizeIs(1));
  EXPECT_THAT(of_x(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1"),
              ElementsAre("x: expected a string or null, got 1"));
  EXPECT_THAT(of_x(R"({"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}})",
                   R"([{"n":1},{"n":"two"}])"),
              ElementsAre(R"(x.1.n: expected an integer, got "two")"));
  EXPECT_THAT(of_x(R"({"type":"string"})", "[" + std::string(10'000, '1') + "]").front().size(),
              testing::Lt(500U));
}

TEST(ArgumentCheck, names_missing_and_unknown_parameters) {
  const char* schema =
      R"({"properties":{"text":{"type":"string"},"limit":{"type":"integer"}},"required":["text"]})";
  EXPECT_THAT(problems(schema, "{}"), ElementsAre("text: is missing; expected a string"));
  EXPECT_THAT(problems(schema, R"({"txt":"a","text":"b"})"),
              ElementsAre("txt: there is no such parameter; there are: text, limit"));
  EXPECT_THAT(problems(schema, R"({"txt":"a","text":"b"})", false), IsEmpty())
      << "the program gets all of them";
  EXPECT_THAT(problems(R"({"additionalProperties":{"type":"string"}})", R"({"any":"thing"})"), IsEmpty());
  EXPECT_THAT(problems(R"({"additionalProperties":false})", R"({"any":1})", false), SizeIs(1));
  EXPECT_THAT(problems("{}", R"({"any":1})"), ElementsAre(HasSubstr("there are none")));
}

TEST(ArgumentCheck, the_list_of_problems_is_truncated) {
  std::string arguments;
  for (int i = 0; i < 100; ++i) arguments += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  EXPECT_THAT(problems("{}", "{" + arguments + "}"), SizeIs(11));
}

TEST(ArgumentCheck, patterns_are_matched_with_bounded_time_and_stack) {
  EXPECT_THAT(of_x(R"({"type":"string","pattern":"^[a-z]+$"})", R"("abc")"), IsEmpty());
  EXPECT_THAT(of_x(R"({"type":"string","pattern":"^[a-z]+$"})", R"("aBc")"),
              ElementsAre(R"(x: expected a string that matches the pattern "^[a-z]+$", got "aBc")"));
  EXPECT_THAT(of_x(R"({"items":{"pattern":"x"}})", R"(["x","y"])"), ElementsAre(HasSubstr("x.1: ")));
  EXPECT_THAT(of_x(R"({"allOf":[{"pattern":"x"}]})", R"("y")"), SizeIs(1));
  const std::string megabyte = '"' + std::string(1'000'000, 'a') + '"';
  EXPECT_THAT(of_x(R"({"type":"string","pattern":"^(a|b)*$"})", megabyte), testing::SizeIs(testing::Le(1U)));
  EXPECT_THAT(of_x(R"({"type":"string","pattern":"^(a+)+$"})", '"' + std::string(50, 'a') + "!\""),
              SizeIs(1));
  EXPECT_THAT(of_x(R"({"type":"string","format":"date"})", '"' + std::string(1'000'000, '1') + '"'),
              IsEmpty());
  EXPECT_THAT(notes(R"({"properties":{"x":{"pattern":"(?<=a)(?P<n>b)("}}})"),
              ElementsAre(HasSubstr("isn't understood")));
  EXPECT_THAT(notes(R"({"properties":{"pattern":{"type":"string"},"format":{"type":"string"}}})"), IsEmpty());
  EXPECT_THAT(problems(R"({"properties":{"pattern":{"type":"string"}}})", R"({"pattern":1})"), SizeIs(1));
}

TEST(ArgumentCheck, keywords_newer_than_draft_7_are_checked_or_reported) {
  const std::string pair =
      R"({"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false})";
  EXPECT_THAT(of_x(pair, R"(["a",1])"), IsEmpty());
  EXPECT_THAT(of_x(pair, R"([1,"a"])"), testing::Not(IsEmpty()));
  EXPECT_THAT(of_x(pair, R"(["a",1,2])"), testing::Not(IsEmpty()));
  EXPECT_THAT(problems(R"({"properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]}})", R"({"a":1})"),
              SizeIs(1));
  EXPECT_THAT(problems(R"({"$defs":{"n":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/n"}}})",
                       R"({"x":"s"})"),
              SizeIs(1));
  EXPECT_THAT(of_x(R"({"contains":{"type":"string"},"minContains":2})", R"(["a",1])"), SizeIs(1));
  EXPECT_THAT(problems(R"({"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false})", R"({"b":1})"),
              SizeIs(1));
  EXPECT_THAT(of_x(R"({"anyOf":[{"pattern":"^a"},{"type":"null"}]})", R"("b")"), SizeIs(1));
  EXPECT_THAT(notes(R"({"unevaluatedProperties":false,"properties":{"x":{"minContains":2}}})"), IsEmpty());
  EXPECT_THAT(notes(R"({"properties":{"x":{"$dynamicRef":"#x"}}})"),
              ElementsAre("\"$dynamicRef\" is not checked"));
  EXPECT_THAT(problems(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"x":{}}})",
                       R"({"x":1})"),
              IsEmpty());
}

TEST(ArgumentCheck, an_invalid_schema_is_rejected) {
  EXPECT_FALSE(ArgumentCheck::compile("[]", true));
  EXPECT_FALSE(ArgumentCheck::compile(R"({"properties":[]})", true));
  EXPECT_FALSE(ArgumentCheck::compile(R"({"properties":{"x":{"type":"no such type"}}})", true));
  EXPECT_FALSE(ArgumentCheck::compile(R"({"properties":{"x":{"$ref":"#/nowhere"}}})", true));
  EXPECT_FALSE(ArgumentCheck::compile(R"({"properties":{"x":{"enum":7}}})", true));
}

TEST(ArgumentCheck, circular_references_are_rejected) {
  for (const char* circle :
       {R"({"$ref":"#"})", R"({"$ref":""})", R"({"allOf":[{"$ref":"#"}]})",
        R"({"$defs":{"n":{"$ref":"#/%24defs/n"}}})", R"({"properties":{"x":{"$ref":"#/properties/x"}}})",
        R"({"properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}})",
        R"({"$defs":{"n":{"not":{"$ref":"#/$defs/n"}}},"properties":{"x":{"items":{"$ref":"#/$defs/n"}}}})"})
    EXPECT_FALSE(ArgumentCheck::compile(circle, true)) << circle;
  const char* tree =
      R"({"$defs":{"t":{"properties":{"of":{"items":{"$ref":"#/$defs/t"}}}}},"properties":{"x":{"$ref":"#/$defs/t"}}})";
  EXPECT_THAT(problems(tree, R"({"x":{"of":[{"of":[]}]}})"), IsEmpty());
  EXPECT_THAT(problems(R"({"properties":{"x":{"$ref":"#"}}})", R"({"x":{"x":{}}})"), IsEmpty());
}

TEST(ArgumentCheck, too_deep_arguments_are_rejected_and_huge_keys_are_harmless) {
  const std::string deep = "{\"x\":" + std::string(400, '[') + std::string(400, ']') + "}";
  EXPECT_THAT(problems(R"({"properties":{"x":{}}})", deep), ElementsAre(HasSubstr("cannot be read")));
  EXPECT_THAT(problems(R"({"patternProperties":{"^x*$":{}}})", "{\"" + std::string(100'000, 'x') + "\":1}"),
              IsEmpty());
  EXPECT_THAT(problems("{}", "{\"" + std::string(100'000, 'x') + "\":1}").front().size(), testing::Lt(500U));
}

TEST(ArgumentCheck, a_reference_to_another_document_is_rejected_without_being_fetched) {
  for (const char* schema : {R"({"$ref":"rties/a"})", R"({"properties":{"a":{"$ref":"other.json#/x"}}})",
                             R"({"$id":"http://h/a","allOf":[{"$ref":"http://h/b"}]})"}) {
    const auto check = ArgumentCheck::compile(schema, true);
    ASSERT_FALSE(check.has_value()) << schema;
    EXPECT_NE(check.error().find("points outside it"), std::string::npos) << check.error();
  }
  const auto named =
      ArgumentCheck::compile(R"({"properties":{"id":{"type":"string"},"$ref":{"type":"string"}}})", true);
  ASSERT_TRUE(named.has_value()) << "a parameter may be called so";
  EXPECT_EQ((*named)->problems(Arguments(R"({"id":"x","$ref":"y"})")), std::vector<std::string>{});
}

TEST(ArgumentCheck, of_a_result_describes_the_output_not_parameters) {
  const auto check = ArgumentCheck::compile(
      R"({"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false})", false);
  ASSERT_TRUE(check);
  const auto of = [&](std::string_view output) {
    return (*check)->problems(Arguments(output), ArgumentCheck::of_a_result);
  };
  EXPECT_THAT(of(R"({"n":1})"), IsEmpty());
  EXPECT_THAT(of(R"({"n":1.0})"), IsEmpty());
  EXPECT_THAT(of(R"({"n":1.5})"), ElementsAre("n: expected an integer, got 1.5"));
  EXPECT_THAT(of(R"({"m":1})"), ElementsAre("m: there is no such property; there are: n"));
}

}  // namespace
}  // namespace mcpivot
