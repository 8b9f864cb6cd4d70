#include "install/import_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ClientServer server(const std::string& text) {
  return {"it", parse_jsonc(text).value_or(JsoncValue()), text, {}};
}
std::string imported(std::string_view client, const std::string& text, Scope scope = Scope::user) {
  const auto result = import_server(*find_client(client), scope, server(text), "/nowhere");
  return result ? result->text : "stays: " + result.error();
}

TEST(ImportRules, most_entries_are_imported_unchanged) {
  for (const char* text :
       {R"({ "command":"npx", "args": ["-y", "x"] /* mine */ })",
        R"({"type": "http", "url": "https://e.com/mcp", "headers": {"Authorization": "Bearer ${T}"}})",
        R"({"command": "a", "disabled": true})", R"({"url": "http://localhost:80/mcp"})",
        R"({"url": "http://127.0.0.1:8080/sse"})"})
    EXPECT_EQ(imported("claude", text), text);
}

TEST(ImportRules, entries_that_only_the_client_can_run_are_not_imported) {
  EXPECT_THAT(imported("claude", R"({"type": "http", "url": "https://e.com/mcp"})"),
              HasSubstr("stays: it is remote and has no headers of its own"));
  EXPECT_THAT(imported("claude", R"({"url": "https://e.com", "oauth": {}, "headers": {"A": "b"}})"),
              HasSubstr("stays: the client itself signs in to it (\"oauth\")"));
  EXPECT_THAT(imported("vscode", R"({"command": "a", "env": {"K": "${input:key}"}})"), HasSubstr("asks you"));
  EXPECT_THAT(imported("cursor", R"({"command": "mcpivot", "args": ["--", "x"]})"),
              HasSubstr("runs mcpivot"));
  EXPECT_THAT(imported("gemini", R"({"tcp": "ws://e.com"})"), HasSubstr("mcpivot cannot run it"));
  EXPECT_THAT(imported("claude", "5"), HasSubstr("isn't an object"));
}

TEST(ImportRules, project_relative_entries_stay_in_the_users_file) {
  const std::string relative = R"({"command": "./server"})";
  EXPECT_THAT(imported("claude", relative), HasSubstr("relative to where the client is started: ./server"));
  EXPECT_EQ(imported("claude", relative, Scope::project), relative);
  const std::string workspace = R"({"command": "x", "args": ["${workspaceFolder}/a"]})";
  EXPECT_THAT(imported("vscode", workspace), HasSubstr("${workspaceFolder}"));
  EXPECT_EQ(imported("vscode", workspace, Scope::project), workspace);
}

TEST(ImportRules, translates_geminis_keys) {
  EXPECT_EQ(
      imported("gemini", R"({"httpUrl": "https://e.com", "headers": {"A": "$TOKEN x $1"}, "timeout": 5000,
                                   "trust": true, "includeTools": ["a"], "excludeTools": ["b"]})"),
      R"({"httpUrl": "https://e.com", "headers": {"A": "${TOKEN} x $1"}, )"
      R"("tools": {"allow": ["a"], "deny": ["b"]}, "timeouts": {"call": "5000ms"}})");
}

TEST(ImportRules, translates_codexs_keys) {
  const auto result = import_server(
      *find_client("codex"), Scope::user,
      server(R"({"url": "https://e.com", "bearer_token_env_var": "TOKEN", "http_headers": {"X": "${y}"},
                 "env_http_headers": {"Z": "ZED"}, "startup_timeout_sec": 20, "tool_timeout_sec": 60.5,
                 "enabled": false, "enabled_tools": ["a"], "tools": {"a": {"approval_mode": "auto"}}})"),
      "/nowhere");
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->text,
            R"({"url": "https://e.com", "headers": {"X": "$${y}", "Z": "${ZED}", )"
            R"("Authorization": "Bearer ${TOKEN}"}, )"
            R"("timeouts": {"start": "20s", "call": "60s"}, "tools": {"allow": ["a"]}, "disabled": true})");
  EXPECT_THAT(result->variables, ElementsAre("ZED", "TOKEN"));
  EXPECT_THAT(result->left_out, ElementsAre("tools"));
  EXPECT_FALSE(result->as_spelled);
}

TEST(ImportRules, dollars_are_escaped_for_a_client_without_variables) {
  EXPECT_EQ(imported("claude-desktop", R"({"command": "sh", "args": ["-c", "echo ${HOME} $X"]})"),
            R"({"command": "sh", "args": ["-c", "echo $${HOME} $X"]})");
}

TEST(ImportRules, empty_and_default_members_do_not_make_a_different_server) {
  auto same = [](const char* one, const char* other) {
    return same_server(*parse_jsonc(one), *parse_jsonc(other));
  };
  EXPECT_TRUE(same(R"({"type": "stdio", "command": "a", "args": [], "env": {}})", R"({"command": "a"})"));
  EXPECT_FALSE(same(R"({"command": "a", "env": {"A": "1"}})", R"({"command": "a"})"));
}

}  // namespace
}  // namespace mcpivot
