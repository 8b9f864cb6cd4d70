#include "gateway/tool_filter.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

ServerEntry entry_with(const ToolRules& rules) {
  ServerEntry entry;
  entry.tools = rules;
  return entry;
}

TEST(ToolFilter, allows_everything_without_rules) {
  const ToolFilter filter(ServerEntry{});
  EXPECT_TRUE(filter.allows("anything"));
  EXPECT_FALSE(filter.restricts());
}

TEST(ToolFilter, an_empty_allow_list_allows_nothing) {
  ToolRules rules;
  rules.allow.emplace();
  const ToolFilter filter(entry_with(rules));
  EXPECT_FALSE(filter.allows("anything"));
  EXPECT_TRUE(filter.restricts());
}

TEST(ToolFilter, deny_overrides_allow) {
  ToolRules rules;
  rules.allow = {"db/*"};
  rules.deny = {"*delete*"};
  const ToolFilter filter(entry_with(rules));
  EXPECT_TRUE(filter.allows("db/read"));
  EXPECT_FALSE(filter.allows("db/delete"));
  EXPECT_FALSE(filter.allows("other"));
}

TEST(ToolFilter, an_invalid_pattern_allows_nothing) {
  for (const char* bad : {"{delete,read", "dele[te"}) {
    ToolRules denied;
    denied.deny = {"harmless", bad};
    EXPECT_FALSE(ToolFilter(entry_with(denied)).allows("read")) << bad;
    ToolRules allowed;
    allowed.allow = {"read", bad};
    EXPECT_FALSE(ToolFilter(entry_with(allowed)).allows("read")) << bad;
  }
}

ServerEntry granted(std::optional<std::vector<std::string>> allow, std::vector<std::string> deny = {}) {
  ServerEntry entry;
  entry.server.name = "db";
  entry.granted.allow = std::move(allow);
  entry.granted.deny = std::move(deny);
  return entry;
}

TEST(ToolFilter, a_profile_can_only_restrict) {
  ServerEntry entry = granted({{"*"}});
  entry.tools.deny = {"drop"};
  EXPECT_FALSE(ToolFilter(entry).allows("drop"));
  EXPECT_TRUE(ToolFilter(entry).allows("read"));
  EXPECT_FALSE(ToolFilter(granted({std::vector<std::string>()})).allows("read"));
}

TEST(ToolFilter, a_double_underscore_in_a_profiles_pattern_separates_server_and_tool) {
  EXPECT_TRUE(ToolFilter(granted({{"db__read*"}})).allows("read_all"));
  EXPECT_FALSE(ToolFilter(granted({{"mail__read*"}})).allows("read_all"));
  EXPECT_TRUE(ToolFilter(granted({{"read*"}})).allows("read_all"));
  EXPECT_FALSE(ToolFilter(granted({{"d*"}})).allows("read_all")) << "its server's name is no reason";
}

TEST(ToolFilter, a_profiles_deny_pattern_matches_with_and_without_the_server) {
  for (const char* pattern : {"delete_*", "db__delete_*", "db__*", "*delete*"})
    EXPECT_FALSE(ToolFilter(granted({}, {pattern})).allows("delete_all")) << pattern;
  EXPECT_FALSE(ToolFilter(granted({}, {"my__tool"})).allows("my__tool"));
  EXPECT_TRUE(ToolFilter(granted({}, {"mail__*"})).allows("delete_all"));
  EXPECT_FALSE(ToolFilter(granted({}, {"dele[te"})).allows("read")) << "a bad pattern lets nothing through";
}

}  // namespace
}  // namespace mcpivot
