// `mcpivot install`, `uninstall` and `init`: each client finds us where it looks for servers, and nothing
// of ours is left afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <sstream>

#include "installs.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Place {
  const char* client;
  const char* scope;
  const char* file;
  const char* key;
};

class InstallEach : public Install, public testing::WithParamInterface<Place> {};

TEST_P(InstallEach, registers_where_the_client_looks_and_uninstalls_without_a_trace) {
  const auto [client, scope, file, key] = GetParam();
  good({"install", client, "--scope", scope});
  const std::string text = read(file);
  const bool for_project = std::string_view(scope) == "project";
  EXPECT_THAT(text, HasSubstr("--config"));
  if (for_project) {
    EXPECT_THAT(text, Not(HasSubstr(folder().native()))) << "it is committed";
    EXPECT_THAT(text, Not(HasSubstr(mcpivot_binary())));
  } else {
    EXPECT_THAT(text, HasSubstr(mcpivot_binary()));
  }
  if (std::string_view(key) != "mcp_servers") {
    const json::object entry = parsed(file).at(key).as_object().at("mcpivot").as_object();
    EXPECT_EQ(entry.at("command").as_string(), for_project ? "mcpivot" : mcpivot_binary());
    auto config_file = std::string(entry.at("args").as_array().at(1).as_string());
    if (const std::string_view open = "${workspaceFolder}"; config_file.starts_with(open))
      config_file.replace(0, open.size(), folder());
    EXPECT_TRUE(for_project || fs::path(config_file).is_absolute());
    EXPECT_EQ(run({"check", config_file}).exit_code, 0) << "what is registered can be run";
  } else {
    EXPECT_THAT(text, HasSubstr("[mcp_servers.mcpivot]\ncommand = \""));
  }
  EXPECT_THAT(good({"install", client, "--scope", scope}).out, HasSubstr("it is there already"));
  EXPECT_EQ(read(file), text) << "twice is once";
  EXPECT_THAT(good({"uninstall", client, "--scope", scope}).out,
              HasSubstr("deletes   the file: it didn't exist before"));
  EXPECT_THAT(files(), IsEmpty());
  const fs::path outermost = *fs::path(file).begin();
  EXPECT_TRUE(outermost == "config" || !exists(outermost)) << "folders that were made go, too";
  EXPECT_FALSE(exists("config/Code") || exists("config/Claude"));
  EXPECT_THAT(good({"uninstall", client, "--scope", scope}).out, HasSubstr("there is no entry \"mcpivot\""));
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

TEST_F(Install, everything_else_in_the_file_keeps_its_bytes) {
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

// Teams commit these files: their content must be valid on other machines.
TEST_F(Install, a_projects_entry_contains_no_paths_of_this_machine) {
  const fs::path bin = fs::path(mcpivot_binary()).parent_path();
  const Environment in_path{{"PATH", bin.native() + ":/usr/bin:/bin"}};
  for (const char* client : {"claude", "cursor", "vscode", "codex", "gemini"}) {
    const Outcome result = run({"install", client, "--scope", "project"}, in_path);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("note")));
  }
  const std::string here = R"(["--config","mcpivot.json"])";
  const std::string open = R"(["--config","${workspaceFolder}/mcpivot.json"])";
  auto args = [&](const char* file, const char* key) {
    return json::serialize(parsed(file).at(key).at("mcpivot").at("args"));
  };
  EXPECT_EQ(args(".mcp.json", "mcpServers"), here);
  EXPECT_EQ(args(".gemini/settings.json", "mcpServers"), here);
  EXPECT_EQ(args(".cursor/mcp.json", "mcpServers"), open);
  EXPECT_EQ(args(".vscode/mcp.json", "servers"), open);
  EXPECT_EQ(read(".codex/config.toml"),
            "[mcp_servers.mcpivot]\ncommand = \"mcpivot\"\nargs = [\"--config\", \"mcpivot.json\"]\n");
  for (const std::string& file : files())
    if (!file.starts_with("state/")) {
      EXPECT_THAT(read(file), Not(HasSubstr(folder().native()))) << file;
    }
  const Outcome doctor = run({"doctor"}, in_path);
  for (const char* title : {"Claude Code", "Cursor", "VS Code", "Codex", "Gemini CLI"})
    EXPECT_THAT(doctor.out, HasSubstr(std::string(title) + " starts mcpivot as \"mcpivot\""));
  EXPECT_THAT(run({"doctor"}).out, HasSubstr("mcpivot isn't in PATH"));
}

TEST_F(Install, warns_if_PATH_has_no_mcpivot_or_another_one_for_an_entry_by_name) {
  EXPECT_THAT(good({"install", "claude", "--scope", "project"}).out, HasSubstr("mcpivot isn't in PATH"));
  write("bin/mcpivot", "#!/bin/sh\n");
  fs::permissions(folder() / "bin/mcpivot", fs::perms(0755));
  EXPECT_THAT(run({"install", "cursor", "--scope", "project"}, {{"PATH", folder() / "bin"}}).out,
              HasSubstr("PATH has another one first: " + (folder() / "bin/mcpivot").native()));
}

TEST_F(Install, a_dry_run_prints_the_same_and_changes_nothing) {
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

TEST_F(Install, without_a_client_lists_the_clients_found) {
  write(".claude.json", lived_in);
  write(".codex/config.toml", "broken");
  const Outcome result = good({"install"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("  claude          " + (folder() / ".claude.json").native()),
                                HasSubstr("--import would move notes, docs behind it, inactive until needed"),
                                HasSubstr("can't be done: "),
                                HasSubstr("Not found: cursor, vscode, gemini, claude-desktop"),
                                HasSubstr("Nothing was changed")));
  EXPECT_EQ(files(), (std::vector<std::string>{".claude.json", ".codex/config.toml"}));
}

TEST_F(Install, finds_clients_whose_folder_is_set_by_an_environment_variable) {
  const std::string elsewhere = folder() / "elsewhere";
  const Environment moved{
      {"CLAUDE_CONFIG_DIR", elsewhere}, {"CODEX_HOME", elsewhere}, {"GEMINI_CLI_HOME", elsewhere}};
  for (const char* client : {"claude", "codex", "gemini"})
    EXPECT_EQ(run({"install", client}, moved).exit_code, 0) << client;
  for (const char* file : {".claude.json", "config.toml", ".gemini/settings.json"})
    EXPECT_THAT(read(fs::path("elsewhere") / file), HasSubstr("mcpivot")) << file;
}

TEST_F(Install, typos_are_reported) {
  const Outcome result = run({"install", "cusor"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("Did you mean \"cursor\"?"));
  EXPECT_EQ(run({"uninstall"}).exit_code, 2);
  EXPECT_EQ(run({"install", "claude", "--scope", "world"}).exit_code, 2);
  EXPECT_THAT(run({"install", "claude-desktop", "--scope", "project"}).err,
              HasSubstr("has no project scope"));
}

// The real clients, if they are installed: they can list their servers without an account.
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

TEST_P(InstallReal, client_lists_mcpivot_after_install_and_not_after_uninstall) {
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
  EXPECT_THAT(again.err, HasSubstr("already exists, and was left unchanged"));
  EXPECT_EQ(read("mcpivot.json"), text);
}

TEST_F(Install, in_a_project_the_configuration_starts_with_the_proposal_of_init) {
  write("go.mod", "module example.com/notes\n");
  good({"install", "cursor", "--scope", "project"});
  EXPECT_THAT(read("mcpivot.json"), HasSubstr("go build"));
}

}  // namespace
}  // namespace harness
