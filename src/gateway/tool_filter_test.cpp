#include "gateway/tool_filter.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(ToolFilter, lets_everything_through_without_rules) {
  const ToolFilter filter(ToolRules{});
  EXPECT_TRUE(filter.allows("anything"));
  EXPECT_FALSE(filter.restricts());
}

TEST(ToolFilter, an_empty_allow_lets_nothing_through) {
  ToolRules rules;
  rules.allow.emplace();
  const ToolFilter filter(rules);
  EXPECT_FALSE(filter.allows("anything"));
  EXPECT_TRUE(filter.restricts());
}

TEST(ToolFilter, deny_is_stronger_than_allow) {
  ToolRules rules;
  rules.allow = {"db/*"};
  rules.deny = {"*delete*"};
  const ToolFilter filter(rules);
  EXPECT_TRUE(filter.allows("db/read"));
  EXPECT_FALSE(filter.allows("db/delete"));
  EXPECT_FALSE(filter.allows("other"));
}

TEST(ToolFilter, a_pattern_that_does_not_compile_lets_nothing_through) {
  for (const char* bad : {"{delete,read", "dele[te"}) {
    ToolRules denied;
    denied.deny = {"harmless", bad};
    EXPECT_FALSE(ToolFilter(denied).allows("read")) << bad;
    ToolRules allowed;
    allowed.allow = {"read", bad};
    EXPECT_FALSE(ToolFilter(allowed).allows("read")) << bad;
  }
}

}  // namespace
}  // namespace mcpivot
