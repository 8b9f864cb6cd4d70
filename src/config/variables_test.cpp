#include "config/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Surroundings around{.variable = [](const char* name) -> const char* {
                            static const std::map<std::string, std::string> set{
                                {"A", "a"}, {"EMPTY", ""}, {"TRICKY", "${A} $${A} }"}, {"HOME", "/home/me"}};
                            const auto found = set.find(name);
                            return found == set.end() ? nullptr : found->second.c_str();
                          },
                          .workspace = "/open/space"};

std::string filled(std::string_view text) {
  const auto result = fill_in(text, around);
  return result ? *result : "error: " + result.error();
}

TEST(Variables, are_expanded) {
  EXPECT_EQ(filled("x${A}y${A}"), "xaya");
  EXPECT_EQ(filled("${EMPTY}"), "");
  EXPECT_EQ(filled("$A $ {A} {A} $"), "$A $ {A} {A} $");
  EXPECT_EQ(filled("${env:A}"), "a");
}

TEST(Variables, a_default_replaces_an_unset_or_empty_variable) {
  EXPECT_EQ(filled("${A:-b}${NOT:-b}${EMPTY:-b}${NOT:-}"), "abb");
  EXPECT_EQ(filled("${NOT:-${NEITHER:-${A}}}!"), "a!");
  EXPECT_EQ(filled("${NOT:-a:-b}"), "a:-b");
  EXPECT_EQ(filled("${env:NOT:-b}"), "b");
}

TEST(Variables, the_value_of_a_variable_is_not_expanded_again) {
  EXPECT_EQ(filled("${TRICKY}"), "${A} $${A} }");
}

TEST(Variables, a_doubled_dollar_is_an_escape) {
  EXPECT_EQ(filled("$${A} ${A} $${NOT"), "${A} a ${NOT");
  EXPECT_EQ(filled("$$ $$A"), "$$ $$A");
}

TEST(Variables, variables_of_clients_are_supported) {
  EXPECT_EQ(filled("${workspaceFolder}${/}${workspaceFolderBasename}${pathSeparator}${userHome}"),
            "/open/space/space//home/me");
  EXPECT_THAT(filled("${input:key}"), HasSubstr("${input:key}"));
}

TEST(Variables, an_error_names_only_the_unset_variable) {
  EXPECT_THAT(filled("${A} ${NOT}"), AllOf(HasSubstr("variable NOT is not set"), HasSubstr("${NOT:-default}"),
                                           Not(HasSubstr("a ${"))));
  for (const char* wrong : {"${", "${A", "x ${A:-${A}"})
    EXPECT_THAT(filled(wrong), HasSubstr("without its }"));
  for (const char* wrong : {"${}", "${A B}", "${file%.c}", "${A:=b}", "${1}", "${:-x}"})
    EXPECT_THAT(filled(wrong), HasSubstr("cannot read")) << wrong;
  std::string nested = "x";
  for (int i = 0; i < 1000; ++i) nested = "${NOT:-" + nested + "}";
  EXPECT_THAT(filled(nested), HasSubstr("defaults are nested"));
}

RC_GTEST_PROP(VariablesProperty, survives_any_text_and_leaves_plain_text_unchanged, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("${", "}", "$", ":-", "A", "NOT", "{", "x", ":", "env:", "/", "", "\n"));
  std::string text;
  for (const auto& piece : pieces) text += piece;
  const auto result = fill_in(text, around);
  if (text.find("${") == std::string::npos) RC_ASSERT(*result == text);
  if (!result) RC_ASSERT(!result.error().empty());
}

}  // namespace
}  // namespace mcpivot
