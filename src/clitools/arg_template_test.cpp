#include "clitools/arg_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const Words tail = {"--json"};

Words filled(const Words& words, std::string_view arguments) {
  const auto parsed = ArgTemplate::parse(words);
  if (!parsed) return {"no template: " + parsed.error().what};
  const auto result = parsed->fill(Arguments(arguments), tail);
  return result ? *result : Words{"refused: " + result.error()};
}

TEST(ArgTemplate, a_parameter_becomes_one_argument_or_part_of_a_word) {
  EXPECT_THAT(filled({"sub", "{a}"}, R"({"a":"x y"})"), ElementsAre("sub", "x y", "--json"));
  EXPECT_THAT(filled({"--a={a}", "{a}/{b}.txt"}, R"({"a":"x","b":7})"),
              ElementsAre("--a=x", "x/7.txt", "--json"));
  EXPECT_THAT(filled({"{{{a}}}", "}}{{"}, R"({"a":1})"), ElementsAre("{1}", "}{", "--json"));
}

TEST(ArgTemplate, an_absent_parameter_also_removes_its_flag) {
  for (const char* absent : {"{}", R"({"a":null})", R"({"a":[]})"}) {
    EXPECT_THAT(filled({"sub", "--a", "{a}", "end"}, absent), ElementsAre("sub", "end", "--json"));
    EXPECT_THAT(filled({"sub", "--a={a}", "{a}", "-x", "{a}{b}"}, absent), ElementsAre("sub", "--json"));
  }
  EXPECT_THAT(filled({"{a}"}, R"({"a":""})"), ElementsAre("", "--json")) << "empty is not absent";
}

TEST(ArgTemplate, a_boolean_turns_its_flag_on_or_off) {
  EXPECT_THAT(filled({"--force", "{f}", "x"}, R"({"f":true})"), ElementsAre("--force", "x", "--json"));
  EXPECT_THAT(filled({"--force", "{f}", "x"}, R"({"f":false})"), ElementsAre("x", "--json"));
  EXPECT_THAT(filled({"--force={f}", "{f}"}, R"({"f":false})"),
              ElementsAre("--force=false", "false", "--json"));
}

TEST(ArgTemplate, an_array_repeats_its_word_and_its_flag) {
  const char* tags = R"({"t":["a","b c",3]})";
  EXPECT_THAT(filled({"--tag", "{t}"}, tags),
              ElementsAre("--tag", "a", "--tag", "b c", "--tag", "3", "--json"));
  EXPECT_THAT(filled({"--tag={t}"}, tags), ElementsAre("--tag=a", "--tag=b c", "--tag=3", "--json"));
  EXPECT_THAT(filled({"{t}"}, tags), ElementsAre("a", "b c", "3", "--json"));
  EXPECT_THAT(filled({"--tags", "{t...}"}, tags), ElementsAre("--tags", "a", "b c", "3", "--json"));
  EXPECT_THAT(filled({"{t}{u}"}, R"({"t":[1],"u":[2]})"),
              ElementsAre(HasSubstr("refused: \"u\" is an array")));
}

TEST(ArgTemplate, numbers_and_objects_keep_their_spelling) {
  EXPECT_THAT(filled({"{n}", "{o}"}, R"({"n":1e3,"o":{ "x" : [0.10, 9007199254740993] }})"),
              ElementsAre("1e3", R"({"x":[0.10,9007199254740993]})", "--json"));
}

TEST(ArgTemplate, the_tail_goes_before_the_double_dash) {
  EXPECT_THAT(filled({"sub", "--", "{a}"}, R"({"a":"-x"})"), ElementsAre("sub", "--json", "--", "-x"));
  EXPECT_THAT(filled({"sub", "--", "-x", "{a}"}, "{}"), ElementsAre("sub", "--json", "--", "-x"))
      << "behind the dashes nothing is a flag";
}

TEST(ArgTemplate, a_value_starting_with_a_dash_needs_a_long_flag) {
  const char* dash = R"({"a":"-x","t":["a","-b"]})";
  EXPECT_THAT(filled({"--a", "{a}"}, dash), ElementsAre("--a=-x", "--json"));
  EXPECT_THAT(filled({"--t", "{t}"}, dash), ElementsAre("--t", "a", "--t=-b", "--json"));
  EXPECT_THAT(filled({"-a{a}"}, dash), ElementsAre("-a-x", "--json"));
  for (const Words& words :
       {Words{"{a}"}, {"-a", "{a}"}, {"{a}{a}"}, {"{t}"}, {"--t", "{t...}"}, {"-t", "{t}"}})
    EXPECT_THAT(filled(words, dash), ElementsAre(HasSubstr("begins with \"-\"")));
  EXPECT_THAT(filled({"{e}-x"}, R"({"e":""})"), ElementsAre(HasSubstr("begins with \"-\"")));
  EXPECT_THAT(filled({"-n{e}", "{a}"}, R"({"e":"","a":"b"})"),
              ElementsAre(HasSubstr("would take the next word")));
}

TEST(ArgTemplate, names_a_value_that_cannot_be_an_argument) {
  EXPECT_THAT(filled({"{a}"}, R"({"a":"x\u0000y"})"), ElementsAre(HasSubstr("\"a\" contains a NUL byte")));
  const std::string longest(ArgTemplate::longest_argument, 'x');
  EXPECT_THAT(filled({"{a}"}, "{\"a\":\"" + longest + "\"}"), ElementsAre(longest, "--json"));
  EXPECT_THAT(filled({"{b}{a}"}, "{\"b\":1,\"a\":\"" + longest + "\"}"),
              ElementsAre(HasSubstr("\"a\" makes an argument")));
}

TEST(ArgTemplate, an_error_in_a_template_names_its_position) {
  const auto problem = [](const Words& words) {
    const auto parsed = ArgTemplate::parse(words);
    return parsed ? std::string("fine") : std::to_string(parsed.error().word) + ": " + parsed.error().what;
  };
  EXPECT_THAT(problem({"a", "{"}), HasSubstr("1: a \"{\" that starts no"));
  EXPECT_THAT(problem({"{}"}), HasSubstr("0: a \"{\""));
  EXPECT_THAT(problem({R"({"a":1})"}), HasSubstr("0: a \"{\""));
  EXPECT_THAT(problem({"a", "b", "}"}), HasSubstr("2: a \"}\""));
  EXPECT_THAT(problem({"x{a...}"}), HasSubstr("0: {parameter...} must be a word of its own"));
  EXPECT_EQ(
      ArgTemplate::parse({"--{a}", "-{b}", "--x-{c}", "--y={d}", "-z{e}", "--", "--{f}"})->in_option_names(),
      (Words{"a", "b", "c"}));
  EXPECT_EQ(ArgTemplate::parse({"{a}", "--x", "{b}", "-x", "{c}", "--y={d}", "--z", "{e...}", "--", "{f}"})
                ->unprotected(),
            (Words{"a", "c", "e"}));
}

// ---- Properties: any template, any values.

// Words of a template over the parameters a, b and c.
rc::Gen<Words> any_template() {
  return rc::gen::container<Words>(rc::gen::element<std::string>("sub", "--flag", "-f", "{a}", "{b}", "{c}",
                                                                 "{a...}", "--x={b}", "-y{c}", "x{a}",
                                                                 "{a}{b}", "x", "--long-flag"));
}

rc::Gen<std::string> any_text() {
  return rc::gen::oneOf(
      rc::gen::element<std::string>("-", "--", "-x", "--flag", "--json", "", "a b", "-5", "; rm"),
      rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
}

// A value of any kind, as JSON; empty: absent.
rc::Gen<std::string> any_value() {
  const auto text = rc::gen::map(any_text(), [](const std::string& value) { return quote(value); });
  const auto list = rc::gen::map(rc::gen::container<Words>(text), [](const Words& values) {
    std::string all;
    for (const std::string& value : values) all += (all.empty() ? "" : ",") + value;
    return "[" + all + "]";
  });
  return rc::gen::oneOf(text, list,
                        rc::gen::element<std::string>("", "true", "false", "null", "-1", "1e3", "{}", "[]"));
}

std::string arguments_of(const Words& values) {
  std::string all;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!values[i].empty())
      all += (all.empty() ? "\"" : ",\"") + std::string(1, static_cast<char>('a' + i)) + "\":" + values[i];
  return "{" + all + "}";
}

// Whether the template itself has such an option: as a word, as the beginning of one, or as --flag=value.
bool comes_from(const Words& words, const std::string& option) {
  if (option == "--json") return true;
  return std::ranges::any_of(words, [&](const std::string& word) {
    if (!word.starts_with('-')) return false;
    const std::string literal = word.substr(0, word.find('{'));
    return option == word || (literal != word && option.starts_with(literal)) ||
           (word.starts_with("--") && literal == word && option.starts_with(word + "=-"));
  });
}

RC_GTEST_PROP(ArgTemplateProperty, no_value_ever_becomes_an_option, ()) {
  const Words words = *any_template();
  const std::string arguments = arguments_of({*any_value(), *any_value(), *any_value()});
  const auto result = ArgTemplate::parse(words)->fill(Arguments(arguments), tail);
  if (!result) RC_DISCARD("refused");
  for (const std::string& word : *result)
    if (word.starts_with('-')) RC_ASSERT(comes_from(words, word));
}

RC_GTEST_PROP(ArgTemplateProperty, values_after_a_double_dash_are_never_rejected_or_changed, ()) {
  const Words texts = *rc::gen::container<Words>(3, any_text());
  Words quoted;
  for (const std::string& text : texts) quoted.push_back(quote(text));
  const std::string arguments = arguments_of(quoted);
  const auto result =
      ArgTemplate::parse({"sub", "--", "{a}", "x{b}", "{c}"})->fill(Arguments(arguments), tail);
  RC_ASSERT(result.has_value());
  RC_ASSERT(*result == (Words{"sub", "--json", "--", texts[0], "x" + texts[1], texts[2]}));
}

RC_GTEST_PROP(ArgTemplateProperty, the_number_of_arguments_follows_from_the_values, ()) {
  const Words words = *any_template();
  const Words values = {*any_value(), *any_value(), *any_value()};
  const std::string text = arguments_of(values);
  const Arguments arguments(text);
  const auto result = ArgTemplate::parse(words)->fill(arguments, tail);
  if (!result) RC_DISCARD("refused");
  // Counted differently: word by word, from what each can become.
  std::size_t least = 1;
  std::size_t most = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t copies = 1;
    bool absent = false;
    bool has = false;
    for (const char name : {'a', 'b', 'c'}) {
      if (words[i].find(std::string("{") + name) == std::string::npos) continue;
      has = true;
      const std::string_view value = arguments.find(std::string(1, name));
      absent = absent || value.empty();
      if (value.starts_with('[')) copies = elements_of(value).size();
    }
    const bool flag = !has && words[i].starts_with('-');
    if (has) {
      most += absent ? 0 : 2 * copies;  // with its flag
      const bool switched = i > 0 && words[i - 1].starts_with('-');
      least += absent || switched ? 0 : copies;
    } else if (!flag) {
      ++least;
      ++most;
    } else {
      ++most;  // a flag may be on its own
    }
  }
  RC_ASSERT(result->size() >= least);
  RC_ASSERT(result->size() <= most);
}

}  // namespace
}  // namespace mcpivot
