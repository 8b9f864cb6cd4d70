// `mcpivot install --import` moves servers behind mcpivot, and `uninstall` restores them, whatever was
// changed in the meantime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "installs.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class InstallImport : public Install {};

TEST_F(InstallImport, import_moves_servers_and_uninstall_restores_them_to_the_byte) {
  write(".claude.json", lived_in);
  const Outcome result = good({"install", "claude", "--import"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("moves     notes to " + config()), HasSubstr("moves     docs to"),
                                HasSubstr("stays     linear: it is remote and has no headers")));
  const json::object left = parsed(".claude.json").at("mcpServers").as_object();
  EXPECT_TRUE(left.contains("mcpivot") && left.contains("linear"));
  EXPECT_EQ(left.size(), 2U);
  EXPECT_THAT(
      read("config/mcpivot/mcpivot.json"),
      AllOf(HasSubstr("\"notes\": {\"command\":\"npx\",  \"args\":[\"notes\"]}"), HasSubstr("/* why */")));
  EXPECT_THAT(run({"check"}).out, AllOf(HasSubstr("notes  stdio"), HasSubstr("docs  stdio")));
  good({"uninstall", "claude"});
  EXPECT_EQ(read(".claude.json"), lived_in);
  EXPECT_FALSE(exists("config/mcpivot/mcpivot.json"));
}

// The usual case: Claude Code writes to its file all the time.
TEST_F(InstallImport, later_changes_by_others_are_kept) {
  write(".claude.json", lived_in);
  good({"install", "claude", "--import"});
  std::string text = read(".claude.json");
  text.replace(text.find("\"dark\""), 6, "\"light\"");
  write(".claude.json", text);
  write("config/mcpivot/mcpivot.json", "// new\n" + read("config/mcpivot/mcpivot.json"));
  const Outcome result = good({"uninstall", "claude"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("removes   mcpivot"), HasSubstr("returns   notes")));
  const json::object now = parsed(".claude.json");
  EXPECT_EQ(now.at("theme").as_string(), "light");
  const json::object servers = now.at("mcpServers").as_object();
  EXPECT_EQ(servers.size(), 3U);
  EXPECT_EQ(servers.at("notes").at("args").at(0).as_string(), "notes");
  EXPECT_THAT(read(".claude.json"),
              AllOf(HasSubstr("// mine"), HasSubstr("/* why */"), HasSubstr("[1,2 ,3]}\n\n")));
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), AllOf(HasSubstr("// new\n"), Not(HasSubstr("notes"))));
}

TEST_F(InstallImport, a_server_that_was_changed_later_is_not_lost) {
  write(".cursor/mcp.json", R"({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})");
  good({"install", "cursor", "--import"});
  // "a" was changed behind mcpivot, and the client was given another "b".
  std::string text = read("config/mcpivot/mcpivot.json");
  text.replace(text.find("\"x\""), 3, "\"x\", \"build\": \"make\"");
  write("config/mcpivot/mcpivot.json", text);
  text = read(".cursor/mcp.json");
  text.insert(text.find("\"mcpivot\""), R"("b": {"command": "z"}, )");
  write(".cursor/mcp.json", text);
  const Outcome result = good({"uninstall", "cursor"});
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("keeps     b: another server has that name now"),
                    HasSubstr("keeps     a in " + config() + " as well, because you changed it there")));
  const json::object servers = parsed(".cursor/mcp.json").at("mcpServers").as_object();
  EXPECT_EQ(servers.at("a").at("command").as_string(), "x");
  EXPECT_EQ(servers.at("b").at("command").as_string(), "z");
  EXPECT_FALSE(servers.contains("mcpivot"));
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), AllOf(HasSubstr("make"), Not(HasSubstr("\"y\""))));
}

TEST_F(InstallImport, a_different_server_of_the_same_name_is_never_overwritten) {
  write("config/mcpivot/mcpivot.json",
        R"({"servers": {"a": {"command": "mine"}, "b": {"command": "same"}}})");
  write(".gemini/settings.json", R"({"mcpServers": {"a": {"command": "theirs"}, "b": {"command": "same"}}})");
  const std::string before = read(".gemini/settings.json");
  const Outcome result = good({"install", "gemini", "--import"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("stays     a: another server in "),
                                HasSubstr("mcpivot.json has that name"), HasSubstr("moves     b")));
  EXPECT_EQ(read("config/mcpivot/mcpivot.json"),
            R"({"servers": {"a": {"command": "mine"}, "b": {"command": "same"}}})");
  good({"uninstall", "gemini"});
  EXPECT_EQ(read(".gemini/settings.json"), before);
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), HasSubstr("same")) << "it was there before us";
}

TEST_F(InstallImport, uninstalling_one_client_keeps_the_servers_that_another_uses) {
  const std::string servers = R"({"mcpServers": {"a": {"command": "x"}}})";
  write(".cursor/mcp.json", servers);
  write(".claude.json", R"({"mcpServers": {"a": {"type": "stdio", "command": "x", "args": []}}})");
  good({"install", "cursor", "--import"});
  EXPECT_THAT(good({"install", "claude", "--import"}).out, HasSubstr("moves     a"));
  EXPECT_THAT(good({"uninstall", "cursor"}).out, HasSubstr("leaves    " + config()));
  EXPECT_EQ(read(".cursor/mcp.json"), servers);
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), HasSubstr("\"x\""));
  good({"uninstall", "claude"});
  EXPECT_FALSE(exists("config/mcpivot/mcpivot.json"));
  EXPECT_THAT(read(".claude.json"), HasSubstr("\"stdio\""));
}

TEST_F(InstallImport, codex_keeps_its_tables_and_comments) {
  const std::string before =
      "# mine\r\nmodel = \"o3\"\r\n\r\n[mcp_servers.docs] # often\r\ncommand = 'docs'\r\n"
      "args = [\r\n  \"a\", # first\r\n]\r\n\r\n[mcp_servers.docs.env]\r\nKEY = \"1\"\r\n\r\n"
      "[mcp_servers.web]\r\nurl = \"https://e.com\"\r\nbearer_token_env_var = "
      "\"WEB_TOKEN\"\r\n\r\n[tui]\r\nx = 1";
  write(".codex/config.toml", before);
  good({"install", "codex", "--import"});
  EXPECT_EQ(read(".codex/config.toml"),
            "# mine\r\nmodel = \"o3\"\r\n\r\n[tui]\r\nx = 1\r\n\r\n[mcp_servers.mcpivot]\r\ncommand = \"" +
                mcpivot_binary() + "\"\r\nargs = [\"--config\", \"" + config() +
                "\"]\r\nenv_vars = [\"WEB_TOKEN\"]");
  const json::object servers = parsed("config/mcpivot/mcpivot.json").at("mcpServers").as_object();
  EXPECT_EQ(json::serialize(servers.at("docs")), R"({"command":"docs","args":["a"],"env":{"KEY":"1"}})");
  EXPECT_EQ(servers.at("web").at("headers").at("Authorization").as_string(), "Bearer ${WEB_TOKEN}");
  write(".codex/config.toml", read(".codex/config.toml") + "\r\n[new]\r\n");
  good({"uninstall", "codex"});
  const std::string after = read(".codex/config.toml");
  EXPECT_THAT(after, AllOf(HasSubstr("args = [\r\n  \"a\", # first\r\n]\r\n[mcp_servers.docs.env]"),
                           HasSubstr("[new]\r\n"), Not(HasSubstr("mcpivot"))));
}

TEST_F(InstallImport, servers_are_restored_even_if_the_clients_file_is_gone) {
  write(".cursor/mcp.json", R"({"mcpServers": {"a": {"command": "x"}}})");
  good({"install", "cursor", "--import"});
  fs::remove(folder() / ".cursor/mcp.json");
  EXPECT_THAT(good({"uninstall", "cursor"}).out, HasSubstr("returns   a"));
  EXPECT_EQ(json::serialize(parsed(".cursor/mcp.json")), R"({"mcpServers":{"a":{"command":"x"}}})");
}

TEST_F(InstallImport, a_manually_removed_entry_does_not_block_uninstall) {
  write(".cursor/mcp.json", R"({"mcpServers": {"a": {"command": "x"}}})");
  good({"install", "claude"});
  fs::remove(folder() / ".claude.json");
  good({"install", "cursor", "--import"});
  EXPECT_THAT(good({"uninstall", "cursor"}).out, Not(HasSubstr("leaves")));
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), Not(HasSubstr("\"x\"")));
}

TEST_F(InstallImport, uninstall_also_reverts_a_later_import) {
  write(".claude.json", lived_in);
  good({"install", "claude"});
  good({"install", "claude", "--import"});
  EXPECT_EQ(parsed(".claude.json").at("mcpServers").as_object().size(), 2U);
  good({"uninstall", "claude"});
  EXPECT_EQ(read(".claude.json"), lived_in);
  EXPECT_FALSE(exists("config/mcpivot/mcpivot.json"));
}

TEST_F(InstallImport, says_that_servers_become_inactive_and_that_clients_share_one_file) {
  write(".claude.json", lived_in);
  write(".cursor/mcp.json", R"({"mcpServers": {"own": {"command": "x", "active": true}}})");
  const std::string inactive = "notes and docs are inactive";
  const std::string share = "all clients share " + config() + " (now: Claude Code)";
  EXPECT_THAT(good({"install", "claude", "--import", "--dry-run"}).out,
              AllOf(HasSubstr(inactive), HasSubstr(share)));
  EXPECT_THAT(good({"install", "claude", "--import"}).out,
              AllOf(HasSubstr(inactive), HasSubstr("pivot_activate"), HasSubstr(share)));
  EXPECT_THAT(good({"install", "cursor", "--import"}).out,
              AllOf(HasSubstr(inactive), HasSubstr("(now: Cursor, Claude Code)")));
  EXPECT_THAT(run({"install", "--help"}).out, HasSubstr("all clients share"));
}

TEST_F(InstallImport, explains_what_allowing_pivot_call_means_unless_it_is_off) {
  write(".claude.json", lived_in);
  const std::string all = "the model may call every tool of every server in";
  EXPECT_THAT(good({"install", "claude"}).out, Not(HasSubstr("pivot_call"))) << "there is no server yet";
  EXPECT_THAT(good({"install", "claude", "--import"}).out,
              AllOf(HasSubstr("if you allow pivot_call in Claude Code permanently"), HasSubstr(all)));
  EXPECT_THAT(good({"install", "cursor"}).out,
              AllOf(HasSubstr("allow pivot_call in Cursor"), HasSubstr(all)));
  EXPECT_THAT(good({"install", "cursor"}).out, Not(HasSubstr(all))) << "it is there already";
  write("config/mcpivot/mcpivot.json",
        R"({"pivot_call": "off", "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}})");
  EXPECT_THAT(good({"install", "vscode"}).out, Not(HasSubstr("pivot_call")));
  write("config/mcpivot/mcpivot.json",
        R"({"pivot_call": "active", "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}})");
  EXPECT_THAT(good({"install", "gemini"}).out, HasSubstr("every tool of every active server"));
}

TEST_F(InstallImport, a_single_server_stays_active_without_further_advice) {
  write(".cursor/mcp.json", R"({"mcpServers": {"own": {"command": "x"}}})");
  EXPECT_THAT(good({"install", "cursor"}).out, Not(HasSubstr("inactive")));
  EXPECT_THAT(good({"install", "cursor", "--import"}).out, Not(HasSubstr("inactive")));
}

// The registered command is what a client would start.
TEST_F(InstallImport, the_registered_command_serves_the_imported_servers) {
  write(".mcp.json", R"({"mcpServers": {"fake": {"command": ")" + fake_server_binary() + R"("}}})");
  good({"install", "claude", "--scope", "project", "--import"});
  const json::object entry = parsed(".mcp.json").at("mcpServers").as_object().at("mcpivot").as_object();
  ClientOptions options;
  options.direct = true;
  // By name, in the project's folder, as Claude Code starts it.
  options.environment = {{"PATH", fs::path(mcpivot_binary()).parent_path().native() + ":/usr/bin:/bin"}};
  options.command = {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder(),
                     std::string(entry.at("command").as_string())};
  for (const json::value& argument : entry.at("args").as_array())
    options.command.emplace_back(argument.as_string());
  Client client(options);
  client.initialize();
  const std::string tools = json::serialize(client.request("tools/list"));
  EXPECT_THAT(tools, AllOf(HasSubstr("\"echo\""), HasSubstr("pivot_status")));
}

}  // namespace
}  // namespace harness
