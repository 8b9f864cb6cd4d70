#include "config/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_file.h"

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LoadedConfig with_profiles(const std::string& profiles) {
  return read_config(R"({"mcpServers": {"db": {"command": "x", "active": true}, "mail": {"command": "y"}},
  "profiles": )" + profiles +
                         "}",
                     "/files", [](const char*) -> const char* { return nullptr; });
}

std::vector<std::string> errors(const LoadedConfig& config) {
  std::vector<std::string> lines;
  for (const Problem& problem : config.problems)
    if (problem.severity == Problem::Severity::error) lines.push_back(problem_text("f", problem));
  return lines;
}

std::vector<std::string> servers(const GatewayConfig& config) {
  std::vector<std::string> names;
  for (const ServerEntry& entry : config.servers) names.push_back(entry.server.name);
  return names;
}

TEST(Profile, shows_only_its_servers_and_grants_only_its_permissions) {
  const LoadedConfig config = with_profiles(
      R"({"ops": {"servers": ["mail"], "tools": {"deny": ["delete_*"]}, "active": ["mail"], "control": ["logs"]}})");
  EXPECT_THAT(errors(config), IsEmpty());
  const GatewayConfig seen = seen_through(config.gateway, "ops");
  EXPECT_THAT(servers(seen), ElementsAre("mail"));
  EXPECT_EQ(seen.servers[0].active, true);
  EXPECT_THAT(seen.servers[0].granted.deny, ElementsAre("delete_*"));
  EXPECT_EQ(seen.powers, (Powers{.build = false, .restart = false, .logs = true, .others = false}));
}

TEST(Profile, without_keys_shows_everything_and_grants_nothing) {
  const GatewayConfig seen = seen_through(with_profiles(R"({"all": {}})").gateway, "all");
  EXPECT_THAT(servers(seen), ElementsAre("db", "mail"));
  EXPECT_EQ(seen.servers[0].active, true);
  EXPECT_EQ(seen.powers, no_powers);
}

TEST(Profile, needs_a_token_with_all_of_its_scopes_and_at_least_one_scope) {
  const LoadedConfig config = with_profiles(
      R"({"readers": {"scopes": ["read"]}, "ops": {"scopes": ["read", "admin"]}, "all": {"scopes": []}, "other": {}})");
  EXPECT_THAT(errors(config), IsEmpty());
  EXPECT_THAT(scopes_of(config.gateway, "readers"), testing::Optional(ElementsAre("read")));
  EXPECT_THAT(scopes_of(config.gateway, "ops"), testing::Optional(ElementsAre("read", "admin")));
  EXPECT_THAT(scopes_of(config.gateway, "all"), testing::Optional(IsEmpty()));
  EXPECT_FALSE(scopes_of(config.gateway, "other"));
  EXPECT_FALSE(scopes_of(config.gateway, "nowhere"));
  EXPECT_FALSE(scopes_of(config.gateway, ""));  // it shows everything
  EXPECT_THAT(all_scopes(config.gateway), ElementsAre("read", "admin"));
  EXPECT_THAT(scopes_of(with_profiles("{}").gateway, ""), testing::Optional(IsEmpty()));
  EXPECT_THAT(scopes_of(with_profiles(R"({"default": {"scopes": ["use"]}})").gateway, ""),
              testing::Optional(ElementsAre("use")));
}

TEST(Profile, with_an_invalid_scope_lets_nobody_in) {
  for (const char* scopes : {R"(["a b"])", R"([""])", R"(["a\"b"])", R"(["a\r\nX: y"])", R"("read")",
                             R"([1])", "null", R"(["\u00e9"])"}) {
    const LoadedConfig config = with_profiles(R"({"ops": {"scopes": )" + std::string(scopes) + "}}");
    EXPECT_THAT(errors(config), testing::SizeIs(1)) << scopes;
    EXPECT_FALSE(has_profile(config.gateway, "ops")) << scopes;
    EXPECT_FALSE(scopes_of(config.gateway, "ops")) << scopes;
  }
}

// Otherwise, every client could use everything.
TEST(Profile, a_misspelt_profiles_key_lets_nobody_in) {
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {R"({"mcpServers": {"db": {"command": "x"}},
               "profile": {"ops": {"scopes": ["admin"]}}})",
            "f:2:16: error: unknown key \"profile\"; did you mean \"profiles\"?"},
           {R"({"servers": {"db": {"command": "x"}}, "Profiles": {"ops": {"scopes": ["admin"]}}})",
            "f:1:39: error: unknown key \"Profiles\""},
           {R"({"mcpServers": {"db": {"command": "x"}}, "proflies": ["ops"]})", "did you mean \"profiles\"?"},
           {R"({"mcpServers": {"db": {"command": "x"}}, "profiles": {"ops": {}}, "profile": {}})",
            "did you mean \"profiles\"?"},
           {R"({"db": {"command": "x"}, "profile": {"ops": {"scopes": ["admin"]}}})",
            "f:1:26: error: unknown key \"profile\"; did you mean \"profiles\"?"},
           {R"({"mcpServers": {"db": {"command": "x"}, "profiles": {"ops": {"scopes": ["admin"]}}}})",
            "f:1:41: error: \"profiles\" belongs next to \"mcpServers\", not in it"},
           {R"({"servers": {"db": {"command": "x"}, "profile": {"ops": {}}}})",
            "error: \"profile\" isn't a server; \"profiles\" belongs next to \"servers\""},
           {R"({"mcpServers": {"db": {"command": "x"}}, "profiles": null})", "not null"}}) {
    const LoadedConfig config =
        read_config(text, "/files", [](const char*) -> const char* { return nullptr; });
    EXPECT_THAT(errors(config), ElementsAre(HasSubstr(place))) << text;
    EXPECT_EQ(config.gateway.servers.size(), 1) << text;
    for (const char* name : {"", "ops"}) {
      EXPECT_FALSE(has_profile(config.gateway, name)) << text;
      EXPECT_FALSE(scopes_of(config.gateway, name)) << text;
    }
  }
}

TEST(Profile, a_clients_own_key_with_a_similar_name_is_a_warning) {
  const LoadedConfig config = read_config(R"({"mcpServers": {"db": {"command": "x"}}, "profile": "work"})",
                                          "/files", [](const char*) -> const char* { return nullptr; });
  EXPECT_THAT(errors(config), IsEmpty());
  EXPECT_THAT(config.problems, testing::SizeIs(1));
  EXPECT_TRUE(has_profile(config.gateway, ""));
}

TEST(Profile, a_commented_out_profiles_key_changes_nothing) {
  const LoadedConfig config =
      read_config(R"({"mcpServers": {"db": {"command": "x"}}, "//profiles": {"ops": {}}, "_profiles": 1})",
                  "/files", [](const char*) -> const char* { return nullptr; });
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_TRUE(has_profile(config.gateway, ""));
}

TEST(Profile, that_does_not_exist_shows_nothing) {
  const LoadedConfig config = with_profiles(R"({"all": {}})");
  EXPECT_FALSE(has_profile(config.gateway, "ops"));
  const GatewayConfig seen = seen_through(config.gateway, "ops");
  EXPECT_THAT(servers(seen), IsEmpty());
  EXPECT_EQ(seen.powers, no_powers);
}

TEST(Profile, named_default_applies_to_clients_without_a_profile) {
  const LoadedConfig config = with_profiles(R"({"default": {"servers": ["db"]}})");
  EXPECT_TRUE(has_profile(config.gateway, ""));
  EXPECT_THAT(servers(seen_through(config.gateway, "")), ElementsAre("db"));
  EXPECT_THAT(servers(seen_through(with_profiles("{}").gateway, "")), ElementsAre("db", "mail"));
}

TEST(Profile, with_errors_does_not_exist) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {R"({"ops": {"servers": ["mial"]}})",
            "names \"mial\", which isn't a server here; did you mean \"mail\"?"},
           {R"({"ops": {"active": ["nope"]}})", "names \"nope\""},
           {R"({"ops": {"tools": {"deny": ["dele[te"]}}})", "dele[te"},
           {R"({"ops": {"control": ["biuld"]}})", "\"biuld\" in \"control\" of profile \"ops\" is unknown"},
           {R"({"ops": {"control": true}})", "must be a list"},
           {R"({"ops": {"servers": "mail"}})", "must be a list of strings"},
           {R"({"ops": 7})", "must be an object"},
           {R"({"ops": {"servers": [7]}})", "must be a string"},
           {R"({"ops": {"server": ["mail"]}})",
            "unknown key \"server\" in profile \"ops\"; did you mean \"servers\"?"},
           {R"({"ops": {"deny": ["delete_*"]}})", "it belongs in \"tools\""},
           {R"({"ops": {"tools": {"denied": ["delete_*"]}}})", "unknown key \"denied\""},
           {R"({"ops": {"servers": null}})", "must be a list of strings, not null"},
           {R"({"ops": {"tools": null}})", "not null"},
           {R"({"ops": {"servers": ["db"]}, "ops": {}})", "\"ops\" appears twice"},
           {R"({"a/b": {}})", "is part of an address"},
           {R"({"": {}})", "is part of an address"},
       }) {
    const LoadedConfig config = with_profiles(text);
    ASSERT_EQ(errors(config).size(), 1U) << text << testing::PrintToString(errors(config));
    EXPECT_THAT(errors(config)[0], HasSubstr(words));
    for (const auto& [name, profile] : config.gateway.profiles) EXPECT_TRUE(profile.broken) << text;
    EXPECT_FALSE(has_profile(config.gateway, "ops")) << text;
    EXPECT_THAT(servers(seen_through(config.gateway, "ops")), IsEmpty()) << text;
    EXPECT_EQ(config.gateway.servers.size(), 2U);
  }
}

TEST(Profile, named_default_with_errors_lets_nobody_in_at_mcp) {
  for (const char* const text : {
           R"({"default": {"servers": ["mial"]}})",
           R"({"default": {"server": ["mail"]}})",
           R"({"default": {"servers": ["mail"]}, "default": {}})",
           R"({"default": 7})",
           R"([{"servers": ["mail"]}])",
           R"({}, "profiles": {"default": {"servers": ["mail"]}})",
       }) {
    const LoadedConfig config = with_profiles(text);
    EXPECT_FALSE(errors(config).empty()) << text;
    EXPECT_FALSE(has_profile(config.gateway, "")) << text;
    EXPECT_THAT(servers(seen_through(config.gateway, "")), IsEmpty()) << text;
  }
  EXPECT_TRUE(has_profile(with_profiles(R"({"ops": {"servers": ["mial"]}})").gateway, ""));
}

TEST(Profile, may_contain_comment_keys) {
  EXPECT_THAT(errors(with_profiles(R"({"ops": {"_comment": "x", "servers": ["db"]}})")), IsEmpty());
}

TEST(Profile, can_be_next_to_servers_in_a_bare_map) {
  const LoadedConfig config =
      read_config(R"({"db": {"command": "x"}, "profiles": {"ops": {"servers": ["db"]}}})", "/files",
                  [](const char*) -> const char* { return nullptr; });
  EXPECT_THAT(errors(config), IsEmpty());
  EXPECT_THAT(servers(config.gateway), ElementsAre("db"));
  EXPECT_TRUE(has_profile(config.gateway, "ops"));
}

}  // namespace
}  // namespace mcpivot
