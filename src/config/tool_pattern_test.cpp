#include "config/tool_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::HasSubstr;

bool matches(std::string_view pattern, std::string_view tool) {
  const auto compiled = ToolPattern::compile(pattern);
  EXPECT_TRUE(compiled) << pattern;
  return compiled && compiled->matches(tool);
}

TEST(ToolPattern, matches_names_not_paths) {
  EXPECT_TRUE(matches("*delete*", "db/delete"));
  EXPECT_TRUE(matches("*", "a/b/c"));
  EXPECT_TRUE(matches("db?delete", "db/delete"));
  EXPECT_TRUE(matches("/root", "/root"));
  EXPECT_TRUE(matches("../up", "../up"));
  EXPECT_TRUE(matches("a//b/", "a//b/"));
  EXPECT_FALSE(matches("db", "db/delete")) << "a name has nothing in it";
  EXPECT_FALSE(matches("a/b", "a//b"));
}

TEST(ToolPattern, supports_wildcards_sets_braces_and_escapes) {
  EXPECT_TRUE(matches("{read,list}_*", "list_files"));
  EXPECT_FALSE(matches("{read,list}_*", "delete_files"));
  EXPECT_TRUE(matches("v[0-9]", "v7"));
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_FALSE(matches("\\*", "a"));
  EXPECT_TRUE(matches("gr?n", "grün"));
  EXPECT_TRUE(matches("**", "a"));
}

TEST(ToolPattern, that_is_invalid_is_rejected_with_the_reason) {
  for (const char* bad : {"{delete,read", "dele[te", "delete\\", "[z-a]", ""}) {
    const auto compiled = ToolPattern::compile(bad);
    ASSERT_FALSE(compiled) << bad;
    EXPECT_THAT(compiled.error(), HasSubstr("bad pattern '" + std::string(bad) + "': "));
  }
  EXPECT_FALSE(ToolPattern::compile(std::string(2'000, 'a')));
}

}  // namespace
}  // namespace mcpivot
