// `mcpivot install`, `uninstall` and `init` on real files, as clients write them and as people leave them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "harness.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The folder is home, and also the project.
class Install : public testing::Test {
 protected:
  void write(const fs::path& name, std::string_view text) const {
    fs::create_directories((folder() / name).parent_path());
    std::ofstream(folder() / name, std::ios::binary) << text;
  }
  std::string read(const fs::path& name) const { return content_of(folder() / name); }
  json::object parsed(const fs::path& name) const {
    return json::parse(read(name), {}, {.allow_comments = true, .allow_trailing_commas = true}).as_object();
  }
  bool exists(const fs::path& name) const { return fs::exists(fs::symlink_status(folder() / name)); }
  // All files, so that nothing appears unnoticed.
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder()))
      if (!entry.is_directory()) all.push_back(fs::relative(entry.path(), folder()));
    std::erase(all, "state/mcpivot/installed/lock");
    std::ranges::sort(all);
    return all;
  }
  // Files and folders.
  Strings everything() const {
    Strings all;
    for (const auto& entry : fs::recursive_directory_iterator(folder()))
      all.push_back(fs::relative(entry.path(), folder()));
    std::ranges::sort(all);
    return all;
  }
  Outcome run(const Strings& arguments, const Environment& added = {}) const {
    Strings command{mcpivot_binary()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_command(command, added);
  }
  Outcome run_command(const Strings& command, const Environment& added = {}) const {
    Environment environment = private_folders(folder());
    environment.emplace_back("XDG_DATA_HOME", folder() / "data");
    environment.emplace_back("PATH", "/usr/bin:/bin");
    environment.insert(environment.end(), added.begin(), added.end());
    return run_to_end(command, environment, folder());
  }
  Outcome good(const std::vector<std::string>& arguments) const {
    Outcome result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return result;
  }
  const fs::path& folder() const { return directory_.path(); }
  std::string config() const { return folder() / "config/mcpivot/mcpivot.json"; }

 private:
  TemporaryDirectory directory_;
};

constexpr std::string_view odd_json = R"({
    // my own notes
    "theme" : "dark",,
    "mcpServers": {}
})";

// A file like those that people have: comments, odd spacing, other settings.
constexpr std::string_view lived_in =
    "{\n\t// mine\n\t\"theme\" : \"dark\",\n\t\"mcpServers\":{\n"
    "\t\t\"notes\": {\"command\":\"npx\",  \"args\":[\"notes\"]}, // often\n"
    "\t\t\"linear\": { \"url\": \"https://mcp.example.com/mcp\" },\n"
    "\t\t\"docs\": {\n\t\t\t\"command\": \"docs\", /* why */ \"env\": { \"A\": \"1\" }\n\t\t}\n"
    "\t},\n\t\"last\": [1,2 ,3]}\n\n";

struct Place {
  const char* client;
  const char* scope;
  const char* file;
  const char* key;
};

class InstallEach : public Install, public testing::WithParamInterface<Place> {};

TEST_P(InstallEach, registers_where_the_client_looks_and_leaves_no_trace_after_uninstall) {
  const auto [client, scope, file, key] = GetParam();
  good({"install", client, "--scope", scope});
  const std::string text = read(file);
  EXPECT_THAT(text, AllOf(HasSubstr(mcpivot_binary()), HasSubstr("--config")));
  if (std::string_view(key) != "mcp_servers") {
    const json::object entry = parsed(file).at(key).as_object().at("mcpivot").as_object();
    EXPECT_EQ(entry.at("command").as_string(), mcpivot_binary());
    const auto config_file = std::string(entry.at("args").as_array().at(1).as_string());
    EXPECT_TRUE(fs::path(config_file).is_absolute());
    EXPECT_EQ(run({"check", config_file}).exit_code, 0) << "what is registered can be run";
  } else {
    EXPECT_THAT(text, HasSubstr("[mcp_servers.mcpivot]\ncommand = \""));
  }
  EXPECT_THAT(good({"install", client, "--scope", scope}).out, HasSubstr("it is there already"));
  EXPECT_EQ(read(file), text) << "twice is once";
  EXPECT_THAT(good({"uninstall", client, "--scope", scope}).out, HasSubstr("restores"));
  EXPECT_THAT(files(), IsEmpty());
  const fs::path outermost = *fs::path(file).begin();
  EXPECT_TRUE(outermost == "config" || !exists(outermost)) << "folders that were made go, too";
  EXPECT_FALSE(exists("config/Code") || exists("config/Claude"));
  EXPECT_THAT(good({"uninstall", client, "--scope", scope}).out, HasSubstr("there is no \"mcpivot\""));
}

INSTANTIATE_TEST_SUITE_P(Clients, InstallEach,
                         testing::Values(Place{"claude", "user", ".claude.json", "mcpServers"},
                                         Place{"claude", "project", ".mcp.json", "mcpServers"},
                                         Place{"cursor", "user", ".cursor/mcp.json", "mcpServers"},
                                         Place{"cursor", "project", ".cursor/mcp.json", "mcpServers"},
                                         Place{"vscode", "user", "config/Code/User/mcp.json", "servers"},
                                         Place{"vscode", "project", ".vscode/mcp.json", "servers"},
                                         Place{"codex", "user", ".codex/config.toml", "mcp_servers"},
                                         Place{"codex", "project", ".codex/config.toml", "mcp_servers"},
                                         Place{"gemini", "user", ".gemini/settings.json", "mcpServers"},
                                         Place{"gemini", "project", ".gemini/settings.json", "mcpServers"},
                                         Place{"claude-desktop", "user",
                                               "config/Claude/claude_desktop_config.json", "mcpServers"}),
                         [](const auto& one) {
                           std::string name = std::string(one.param.client) + "_" + one.param.scope;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(Install, everything_else_in_the_file_stays_to_the_byte) {
  write(".claude.json", lived_in);
  fs::permissions(folder() / ".claude.json", fs::perms(0640));
  good({"install", "claude"});
  const std::string text = read(".claude.json");
  const auto added = text.find(",\n\t\t\"mcpivot\": {");
  ASSERT_NE(added, std::string::npos) << text;
  EXPECT_EQ(text.substr(0, added), lived_in.substr(0, added));
  const std::string_view rest = "\n\t},\n\t\"last\": [1,2 ,3]}\n\n";
  EXPECT_TRUE(text.ends_with(rest)) << text;
  EXPECT_EQ(read(".claude.json.mcpivot-backup"), lived_in);
  struct stat status{};
  ::stat((folder() / ".claude.json").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  good({"uninstall", "claude"});
  EXPECT_EQ(read(".claude.json"), lived_in);
  EXPECT_FALSE(exists(".claude.json.mcpivot-backup"));
}

TEST_F(Install, import_moves_servers_and_uninstall_gives_them_back_to_the_byte) {
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
TEST_F(Install, what_others_wrote_since_is_kept) {
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

TEST_F(Install, a_server_that_was_changed_since_is_not_lost) {
  write(".cursor/mcp.json", R"({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})");
  good({"install", "cursor", "--import"});
  // "a" was improved behind mcpivot, and somebody gave the client another "b".
  std::string text = read("config/mcpivot/mcpivot.json");
  text.replace(text.find("\"x\""), 3, "\"x\", \"build\": \"make\"");
  write("config/mcpivot/mcpivot.json", text);
  text = read(".cursor/mcp.json");
  text.insert(text.find("\"mcpivot\""), R"("b": {"command": "z"}, )");
  write(".cursor/mcp.json", text);
  const Outcome result = good({"uninstall", "cursor"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("keeps     b: there is one of that name again"),
                                HasSubstr("keeps     a in " + config() + ", too: you changed it there")));
  const json::object servers = parsed(".cursor/mcp.json").at("mcpServers").as_object();
  EXPECT_EQ(servers.at("a").at("command").as_string(), "x");
  EXPECT_EQ(servers.at("b").at("command").as_string(), "z");
  EXPECT_FALSE(servers.contains("mcpivot"));
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), AllOf(HasSubstr("make"), Not(HasSubstr("\"y\""))));
}

TEST_F(Install, a_server_of_the_same_name_that_differs_is_never_overwritten) {
  write("config/mcpivot/mcpivot.json",
        R"({"servers": {"a": {"command": "mine"}, "b": {"command": "same"}}})");
  write(".gemini/settings.json", R"({"mcpServers": {"a": {"command": "theirs"}, "b": {"command": "same"}}})");
  const std::string before = read(".gemini/settings.json");
  const Outcome result = good({"install", "gemini", "--import"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("stays     a: there is another server of that name in"),
                                HasSubstr("moves     b")));
  EXPECT_EQ(read("config/mcpivot/mcpivot.json"),
            R"({"servers": {"a": {"command": "mine"}, "b": {"command": "same"}}})");
  good({"uninstall", "gemini"});
  EXPECT_EQ(read(".gemini/settings.json"), before);
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), HasSubstr("same")) << "it was there before us";
}

TEST_F(Install, clients_that_share_a_configuration_do_not_take_it_from_each_other) {
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

TEST_F(Install, codex_keeps_its_tables_and_comments) {
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

TEST_F(Install, a_file_that_does_not_parse_is_not_touched) {
  write(".claude.json", odd_json);
  write(".codex/config.toml", "model = \"o3\n");
  for (const char* command : {"install", "uninstall"}) {
    const Outcome result = run({command, "claude"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr((folder() / ".claude.json").native() + ": line 3, column 22:"),
                                  HasSubstr("left as it is")));
    EXPECT_THAT(run({command, "codex"}).err, HasSubstr("line 1, column 9: this string is not closed"));
  }
  EXPECT_EQ(read(".claude.json"), odd_json);
  EXPECT_EQ(files(), (std::vector<std::string>{".claude.json", ".codex/config.toml"}));
}

TEST_F(Install, a_broken_configuration_of_our_own_is_not_touched_either) {
  write("config/mcpivot/mcpivot.json", "{ \"mcpServers\": ");
  write(".claude.json", lived_in);
  const Outcome result = run({"install", "claude", "--import"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(config() + ": line 1"));
  EXPECT_EQ(read(".claude.json"), lived_in);
}

TEST_F(Install, a_link_stays_a_link) {
  write("dotfiles/mcp.json", "{}\n");
  fs::create_directories(folder() / ".cursor");
  fs::create_symlink("../dotfiles/mcp.json", folder() / ".cursor/mcp.json");
  good({"install", "cursor"});
  EXPECT_TRUE(fs::is_symlink(folder() / ".cursor/mcp.json"));
  EXPECT_THAT(read("dotfiles/mcp.json"), HasSubstr("mcpivot"));
  good({"uninstall", "cursor"});
  EXPECT_EQ(read("dotfiles/mcp.json"), "{}\n");
  EXPECT_TRUE(fs::is_symlink(folder() / ".cursor/mcp.json"));

  fs::remove(folder() / "dotfiles/mcp.json");
  EXPECT_THAT(run({"install", "cursor"}).err, HasSubstr("is a link that leads nowhere"));
}

TEST_F(Install, a_read_only_file_is_left_alone_and_nothing_half_done) {
  write(".cursor/mcp.json", "{}\n");
  fs::permissions(folder() / ".cursor/mcp.json", fs::perms(0444));
  const Outcome result = run({"install", "cursor"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("is read-only"), HasSubstr("chmod u+w")));
  EXPECT_EQ(files(), std::vector<std::string>{".cursor/mcp.json"});
}

TEST_F(Install, uninstall_takes_away_the_folders_that_install_made_and_no_others) {
  write(".claude.json", lived_in);
  fs::create_directories(folder() / "config");
  const auto before = everything();
  good({"install", "claude", "--import"});
  EXPECT_TRUE(exists("config/mcpivot/mcpivot.json"));
  good({"uninstall", "claude"});
  EXPECT_EQ(everything(), before);

  // What two clients share goes with the second, whichever was there first; what others put there stays.
  good({"install", "claude"});
  good({"install", "cursor"});
  good({"uninstall", "claude"});
  EXPECT_TRUE(exists("config/mcpivot/mcpivot.json"));
  good({"uninstall", "cursor"});
  EXPECT_EQ(everything(), before);
  good({"install", "claude"});
  write("config/mcpivot/notes", "mine");
  good({"uninstall", "claude"});
  EXPECT_THAT(everything(),
              AllOf(testing::Contains("config/mcpivot/notes"), Not(testing::Contains("state"))));
}

TEST_F(Install, what_fails_changes_nothing_and_says_so) {
  write(".claude.json", lived_in);
  fs::permissions(folder() / ".claude.json", fs::perms(0444));
  const auto before = everything();
  const Outcome install = run({"install", "claude", "--import"});
  EXPECT_EQ(install.exit_code, 1);
  EXPECT_EQ(install.out, "");
  EXPECT_THAT(install.err, AllOf(HasSubstr("is read-only"), HasSubstr("Nothing was changed.")));
  EXPECT_EQ(everything(), before);

  fs::permissions(folder() / ".claude.json", fs::perms(0644));
  good({"install", "claude", "--import"});
  const auto installed = everything();
  const std::string text = read(".claude.json");
  fs::permissions(config(), fs::perms(0444));
  const Outcome uninstall = run({"uninstall", "claude"});
  EXPECT_EQ(uninstall.exit_code, 1);
  EXPECT_EQ(uninstall.out, "");
  EXPECT_THAT(uninstall.err, AllOf(HasSubstr("is read-only"), HasSubstr("Nothing was changed.")));
  EXPECT_EQ(everything(), installed);
  EXPECT_EQ(read(".claude.json"), text);

  write(".cursor/mcp.json", odd_json);
  EXPECT_THAT(run({"install", "cursor"}).err, HasSubstr("Nothing was changed."));
  // The link has no place: a file stands where its folder should be.
  write(".claude/skills", "a file");
  const auto without_skill = everything();
  EXPECT_THAT(run({"install", "skill"}).err, HasSubstr("Nothing was changed."));
  EXPECT_EQ(everything(), without_skill);
}

TEST_F(Install, in_a_folder_that_is_gone_nothing_is_written) {
  for (const std::string command : {"init", "install cursor --scope project"}) {
    fs::create_directories(folder() / "gone");
    const Outcome result =
        run_command({"sh", "-c", "cd gone && rmdir ../gone && exec " + mcpivot_binary() + " " + command});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("the current folder does not exist any more"));
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(everything(), IsEmpty());
  }
}

TEST_F(Install, a_name_that_is_taken_is_left_alone) {
  const std::string text = R"({"mcpServers": {"mcpivot": {"command": "other"}}})";
  write(".claude.json", text);
  EXPECT_THAT(run({"install", "claude"}).err, AllOf(HasSubstr("not ours"), HasSubstr("--name")));
  EXPECT_THAT(run({"uninstall", "claude"}).err, HasSubstr("not ours"));
  good({"install", "claude", "--name", "pivot"});
  EXPECT_TRUE(parsed(".claude.json").at("mcpServers").as_object().contains("pivot"));
  good({"uninstall", "claude", "--name", "pivot"});
  EXPECT_EQ(read(".claude.json"), text);
}

TEST_F(Install, servers_come_back_even_if_the_clients_file_is_gone) {
  write(".cursor/mcp.json", R"({"mcpServers": {"a": {"command": "x"}}})");
  good({"install", "cursor", "--import"});
  fs::remove(folder() / ".cursor/mcp.json");
  EXPECT_THAT(good({"uninstall", "cursor"}).out, HasSubstr("returns   a"));
  EXPECT_EQ(json::serialize(parsed(".cursor/mcp.json")), R"({"mcpServers":{"a":{"command":"x"}}})");
}

TEST_F(Install, an_entry_that_was_taken_out_by_hand_holds_nothing_back) {
  write(".cursor/mcp.json", R"({"mcpServers": {"a": {"command": "x"}}})");
  good({"install", "claude"});
  fs::remove(folder() / ".claude.json");
  good({"install", "cursor", "--import"});
  EXPECT_THAT(good({"uninstall", "cursor"}).out, Not(HasSubstr("leaves")));
  EXPECT_THAT(read("config/mcpivot/mcpivot.json"), Not(HasSubstr("\"x\"")));
}

TEST_F(Install, a_file_with_nothing_in_it_is_as_good_as_none) {
  write(".gemini/settings.json", "\n");
  good({"install", "gemini"});
  EXPECT_TRUE(parsed(".gemini/settings.json").at("mcpServers").as_object().contains("mcpivot"));
  good({"uninstall", "gemini"});
  EXPECT_EQ(read(".gemini/settings.json"), "\n");
}

TEST_F(Install, importing_later_still_leads_all_the_way_back) {
  write(".claude.json", lived_in);
  good({"install", "claude"});
  good({"install", "claude", "--import"});
  EXPECT_EQ(parsed(".claude.json").at("mcpServers").as_object().size(), 2U);
  good({"uninstall", "claude"});
  EXPECT_EQ(read(".claude.json"), lived_in);
  EXPECT_FALSE(exists("config/mcpivot/mcpivot.json"));
}

TEST_F(Install, what_is_remembered_is_for_its_user_alone) {
  write(".claude.json", lived_in);
  good({"install", "claude", "--import"});
  for (const auto& entry : fs::recursive_directory_iterator(folder() / "state/mcpivot/installed"))
    EXPECT_EQ(entry.status().permissions(), fs::perms(0600)) << entry.path();
  EXPECT_EQ(fs::status(folder() / "state/mcpivot/installed").permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(config()).permissions(), fs::perms(0600));
}

TEST_F(Install, uninstall_works_without_a_memory) {
  write(".claude.json", "{\n  \"a\": 1\n}");
  good({"install", "claude"});
  fs::remove_all(folder() / "state");
  good({"uninstall", "claude"});
  EXPECT_FALSE(parsed(".claude.json").at("mcpServers").as_object().contains("mcpivot"));
}

TEST_F(Install, a_dry_run_says_the_same_and_changes_nothing) {
  write(".claude.json", lived_in);
  const Outcome dry = good({"install", "claude", "--import", "--dry-run"});
  EXPECT_EQ(files(), std::vector<std::string>{".claude.json"});
  EXPECT_FALSE(exists("state"));
  const std::string plan = dry.out.substr(0, dry.out.find("Dry run"));
  EXPECT_THAT(good({"install", "claude", "--import"}).out, HasSubstr(plan));
  const std::string text = read(".claude.json");
  EXPECT_THAT(good({"uninstall", "claude", "--dry-run"}).out, HasSubstr("nothing was changed"));
  EXPECT_EQ(read(".claude.json"), text);
}

TEST_F(Install, alone_lists_the_clients_that_are_there) {
  write(".claude.json", lived_in);
  write(".codex/config.toml", "broken");
  const Outcome result = good({"install"});
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("  claude          " + (folder() / ".claude.json").native()),
                    HasSubstr("--import would move notes, docs behind it"), HasSubstr("cannot be done: "),
                    HasSubstr("Not found: cursor, vscode, gemini, claude-desktop"),
                    HasSubstr("Nothing was changed")));
  EXPECT_EQ(files(), (std::vector<std::string>{".claude.json", ".codex/config.toml"}));
}

TEST_F(Install, clients_that_were_told_to_live_elsewhere_are_found_there) {
  const std::string elsewhere = folder() / "elsewhere";
  const Environment moved{
      {"CLAUDE_CONFIG_DIR", elsewhere}, {"CODEX_HOME", elsewhere}, {"GEMINI_CLI_HOME", elsewhere}};
  for (const char* client : {"claude", "codex", "gemini"})
    EXPECT_EQ(run({"install", client}, moved).exit_code, 0) << client;
  for (const char* file : {".claude.json", "config.toml", ".gemini/settings.json"})
    EXPECT_THAT(read(fs::path("elsewhere") / file), HasSubstr("mcpivot")) << file;
}

TEST_F(Install, slips_of_the_pen_are_told) {
  const Outcome result = run({"install", "cusor"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean \"cursor\"?"));
  EXPECT_EQ(run({"uninstall"}).exit_code, 2);
  EXPECT_EQ(run({"install", "claude", "--scope", "world"}).exit_code, 2);
  EXPECT_THAT(run({"install", "claude-desktop", "--scope", "project"}).err, HasSubstr("knows no projects"));
}

// The clients themselves, where they are installed: they can list their servers without an account.
class InstallReal : public Install, public testing::WithParamInterface<const char*> {
 protected:
  std::string list(const std::string& program) const {
    const Outcome listed =
        run_to_end({program, "mcp", "list"}, private_folders(folder()), folder(), std::chrono::seconds(60));
    EXPECT_EQ(listed.exit_code, 0);
    return listed.out + listed.err;
  }
  static std::string in_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (fs::exists(fs::path(folder) / program)) return fs::path(folder) / program;
    return {};
  }
};

TEST_P(InstallReal, sees_us_after_install_and_not_after_uninstall) {
  const std::string program = in_path(GetParam());
  ASSERT_NE(program, "") << GetParam() << " is not installed; ./dev clients installs it";
  EXPECT_THAT(list(program), Not(HasSubstr("--config")));
  good({"install", GetParam(), "--name", "the-pivot"});
  EXPECT_THAT(list(program), AllOf(HasSubstr("the-pivot"), HasSubstr("--config")));
  good({"uninstall", GetParam(), "--name", "the-pivot"});
  EXPECT_THAT(list(program), Not(HasSubstr("the-pivot")));
}

INSTANTIATE_TEST_SUITE_P(Clients, InstallReal, testing::Values("claude", "gemini", "codex"),
                         [](const auto& one) { return std::string(one.param); });

// What is registered is what a client would start.
TEST_F(Install, the_command_that_is_registered_serves_the_servers_that_were_imported) {
  write(".mcp.json", R"({"mcpServers": {"fake": {"command": ")" + fake_server_binary() + R"("}}})");
  good({"install", "claude", "--scope", "project", "--import"});
  const json::object entry = parsed(".mcp.json").at("mcpServers").as_object().at("mcpivot").as_object();
  ClientOptions options;
  options.direct = true;
  options.command = {std::string(entry.at("command").as_string())};
  for (const json::value& argument : entry.at("args").as_array())
    options.command.emplace_back(argument.as_string());
  Client client(options);
  client.initialize();
  const std::string tools = json::serialize(client.request("tools/list"));
  EXPECT_THAT(tools, AllOf(HasSubstr("\"echo\""), HasSubstr("pivot_status")));
}

TEST_F(Install, the_skill_is_a_link_to_the_file_that_we_keep) {
  EXPECT_THAT(good({"install", "skill", "--dry-run"}).out, HasSubstr(".claude/skills/mcpivot/SKILL.md"));
  EXPECT_THAT(files(), IsEmpty());
  good({"install", "skill"});
  const fs::path link = folder() / ".claude/skills/mcpivot/SKILL.md";
  ASSERT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::read_symlink(link), folder() / "data/mcpivot/skill/SKILL.md");
  const std::string expected = content_of(PROJECT_DIRECTORY "/share/skill/SKILL.md");
  EXPECT_EQ(read(".claude/skills/mcpivot/SKILL.md"), expected);
  EXPECT_TRUE(expected.starts_with("---\nname: mcpivot\ndescription: "));

  // An older version's text is renewed: by the next installation, and by the next run.
  write("data/mcpivot/skill/SKILL.md", "old");
  good({"install", "skill"});
  EXPECT_EQ(read(".claude/skills/mcpivot/SKILL.md"), expected);
  write("data/mcpivot/skill/SKILL.md", "old");
  run({"--", "true"});
  EXPECT_EQ(read(".claude/skills/mcpivot/SKILL.md"), expected);

  good({"uninstall", "skill"});
  EXPECT_FALSE(exists(".claude/skills/mcpivot"));
  EXPECT_FALSE(exists("data/mcpivot/skill"));
}

// As a package lays it out: the name in PATH is registered, not the file of this version, and the skill is
// the package's.
TEST_F(Install, what_a_package_will_renew_is_what_is_named) {
  fs::create_directories(folder() / "opt/bin");
  fs::copy_file(mcpivot_binary(), folder() / "opt/bin/mcpivot");
  write("opt/share/mcpivot/skill/SKILL.md", "packaged");
  fs::create_directories(folder() / "bin");
  fs::create_symlink("../opt/bin/mcpivot", folder() / "bin/mcpivot");
  Environment environment = private_folders(folder());
  environment.emplace_back("PATH", (folder() / "bin").native() + ":/usr/bin:/bin");
  auto packaged = [&](const std::string& what) {
    return run_to_end({folder() / "bin/mcpivot", "install", what}, environment, folder()).exit_code;
  };
  EXPECT_EQ(packaged("claude"), 0);
  EXPECT_THAT(read(".claude.json"), HasSubstr("\"" + (folder() / "bin/mcpivot").native() + "\""));
  EXPECT_EQ(packaged("skill"), 0);
  EXPECT_EQ(read(".claude/skills/mcpivot/SKILL.md"), "packaged");
  EXPECT_FALSE(exists("data"));
  good({"uninstall", "skill"});
  EXPECT_EQ(read("opt/share/mcpivot/skill/SKILL.md"), "packaged") << "that is the package's to take away";
}

TEST_F(Install, a_skill_of_somebody_elses_is_left_alone) {
  write(".claude/skills/mcpivot/SKILL.md", "mine");
  EXPECT_THAT(run({"install", "skill"}).err, HasSubstr("not ours"));
  EXPECT_THAT(run({"uninstall", "skill"}).err, HasSubstr("not ours"));
  EXPECT_EQ(read(".claude/skills/mcpivot/SKILL.md"), "mine");
}

TEST_F(Install, init_writes_a_configuration_that_check_understands) {
  write("Cargo.toml", "[package]\nname = \"notes\"\n");
  EXPECT_THAT(good({"init", "--dry-run"}).out, HasSubstr("cargo build"));
  EXPECT_FALSE(exists("mcpivot.json"));
  EXPECT_THAT(good({"init"}).out, AllOf(HasSubstr("Cargo.toml (Rust)"), HasSubstr("mcpivot check")));
  const Outcome check = run({"check"});
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_THAT(check.out, AllOf(HasSubstr("notes  stdio, active"), HasSubstr("cargo build")));

  const std::string text = read("mcpivot.json");
  const Outcome again = run({"init"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("is there already"));
  EXPECT_EQ(read("mcpivot.json"), text);
}

TEST_F(Install, in_a_project_the_configuration_begins_with_what_init_proposes) {
  write("go.mod", "module example.com/notes\n");
  good({"install", "cursor", "--scope", "project"});
  EXPECT_THAT(read("mcpivot.json"), HasSubstr("go build"));
}

TEST_F(Install, two_at_once_both_succeed) {
  write(".claude.json", lived_in);
  std::vector<std::unique_ptr<Child>> children;
  for (const char* name : {"one", "two", "three", "four"})
    children.push_back(std::make_unique<Child>(
        std::vector<std::string>{mcpivot_binary(), "install", "claude", "--name", name},
        private_folders(folder()), folder()));
  for (const auto& child : children) EXPECT_EQ(child->wait_exit(soon()), 0) << child->stderr_text();
  EXPECT_EQ(parsed(".claude.json").at("mcpServers").as_object().size(), 7U);
}

}  // namespace
}  // namespace harness
