// Whatever is installed in whichever clients, in any order: once all of it is uninstalled, also in any
// order, every file has its old bytes, and nothing is left over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <set>

#include "installs.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Where {
  const char* client;
  const char* user_file;
  const char* project_file;  // null: it has none
  const char* key;           // of its servers; null: TOML
};

constexpr Where all_clients[] = {
    {"claude", ".claude.json", ".mcp.json", "mcpServers"},
    {"cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"},
    {"vscode", "config/Code/User/mcp.json", ".vscode/mcp.json", "servers"},
    {"codex", ".codex/config.toml", ".codex/config.toml", nullptr},
    {"gemini", ".gemini/settings.json", ".gemini/settings.json", "mcpServers"},
    {"claude-desktop", "config/Claude/claude_desktop_config.json", nullptr, "mcpServers"}};

// Comments, odd spacing, CRLF, trailing commas, other orders, servers that several clients have.
const std::vector<std::string> json_files{
    std::string(lived_in),
    R"({"mcpServers": {"docs": {"command": "docs", "env": {"A": "1"}}, "own": {"command": "x"},}})",
    "{\r\n  \"mcpServers\": {\r\n    \"notes\": {\"command\": \"other\"} // x\r\n  }\r\n}\r\n",
    "{\"z\": 1, \"mcpServers\": {}}",
    "{}",
    "\n",
    ""};
const std::string toml_file =
    "# mine\r\nmodel = \"o3\"\r\n\r\n[mcp_servers.docs] # often\r\ncommand = 'docs'\r\n\r\n"
    "[mcp_servers.docs.env]\r\nA = \"1\"\r\n\r\n[tui]\r\nx = 1";

class InstallOrder : public Install {
 protected:
  using Tree = std::map<std::string, std::string>;  // folders end with a slash

  struct Entry {
    const Where* where;
    std::string scope;
    std::string name;
    auto operator<=>(const Entry&) const = default;
  };

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }

  fs::path project() const { return folder() / project_; }

  Tree tree() const {
    Tree all;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      const std::string name = fs::relative(entry.path(), folder());
      if (entry.is_directory()) {
        all[name + "/"];
      } else {
        all[name] = content_of(entry.path());
      }
    }
    return all;
  }
  void somebodys_home() {
    project_ = one_in(3) ? "." : "project";
    fs::create_directories(project());
    for (const Where& where : all_clients)
      for (const fs::path& file :
           {fs::path(where.user_file),
            where.project_file == nullptr ? fs::path() : fs::path(project_) / where.project_file}) {
        if (file.empty() || one_in(2)) continue;
        std::string text = where.key == nullptr ? toml_file : json_files[below(json_files.size())];
        if (const auto at = text.find("mcpServers"); where.key != nullptr && at != std::string::npos)
          text.replace(at, 10, where.key);
        write(file, text);
      }
    const std::string mine = "// mine\n{\"mcpServers\": {\"old\": {\"command\": \"old\"}}, }\n";
    if (one_in(3)) write("config/mcpivot/mcpivot.json", mine);
    if (one_in(3)) write(fs::path(project_) / "mcpivot.json", mine);
  }
  bool mcpivot(Strings arguments) {
    arguments.insert(arguments.begin(), mcpivot_binary());
    Environment environment = private_folders(folder());
    environment.emplace_back("PATH", "/usr/bin:/bin");
    const Outcome result = run_to_end(arguments, environment, project());
    for (const std::string& word : arguments) story_ += " " + word;
    story_ += "\n" + result.out + result.err;
    return result.exit_code == 0;
  }
  void install() {
    const Where& where = all_clients[below(std::size(all_clients))];
    const bool for_project = where.project_file != nullptr && one_in(2);
    const Entry entry{&where, for_project ? "project" : "user", one_in(3) ? "second" : "mcpivot"};
    Strings arguments{"install", where.client, "--scope", entry.scope, "--name", entry.name};
    if (!one_in(3)) arguments.emplace_back("--import");
    ASSERT_TRUE(mcpivot(arguments)) << story_;
    // In the home folder, some clients have one file for both.
    if (for_project && project_ == "." && std::string_view(where.user_file) == where.project_file)
      installed_.erase({&where, "user", entry.name});
    if (!for_project && project_ == "." && where.project_file != nullptr &&
        std::string_view(where.user_file) == where.project_file)
      installed_.erase({&where, "project", entry.name});
    installed_.insert(entry);
  }
  void uninstall() {
    const auto entry = std::next(installed_.begin(), static_cast<std::ptrdiff_t>(below(installed_.size())));
    EXPECT_TRUE(mcpivot({"uninstall", entry->where->client, "--scope", entry->scope, "--name", entry->name}))
        << story_;
    installed_.erase(entry);
  }

  std::mt19937_64 random_;
  std::string project_;
  std::set<Entry> installed_;
  std::string story_;
};

class InstallAnyOrder : public InstallOrder, public testing::WithParamInterface<unsigned> {};

TEST_P(InstallAnyOrder, restores_every_file) {
  random_.seed(GetParam());
  somebodys_home();
  const Tree before = tree();
  for (std::size_t left = 3 + below(6); left > 0 && !HasFailure(); --left) {
    if (!installed_.empty() && one_in(3)) {
      uninstall();
    } else {
      install();
    }
  }
  while (!installed_.empty() && !HasFailure()) uninstall();
  EXPECT_EQ(tree(), before) << story_;
}

INSTANTIATE_TEST_SUITE_P(Seeds, InstallAnyOrder, testing::Range(1U, 25U));

// The order that used to leave mcpivot's configuration behind: the last client is uninstalled first.
TEST_F(InstallOrder, the_last_client_installed_may_be_uninstalled_first) {
  write(".claude.json", lived_in);
  write(".cursor/mcp.json", json_files[1]);
  write(".gemini/settings.json", json_files[2]);
  const Tree before = tree();
  for (const char* client : {"claude", "cursor", "gemini"}) good({"install", client, "--import"});
  for (const char* client : {"gemini", "cursor", "claude"}) good({"uninstall", client});
  EXPECT_EQ(tree(), before);
}

TEST_F(InstallOrder, two_entries_in_one_file_are_both_removed_without_a_trace) {
  write(".claude.json", lived_in);
  const Tree before = tree();
  good({"install", "claude", "--name", "one"});
  good({"install", "claude", "--name", "two", "--import"});
  EXPECT_EQ(read(".claude.json.mcpivot-backup"), lived_in) << "the backup is the file before us";
  good({"uninstall", "claude", "--name", "one"});
  EXPECT_THAT(read(".claude.json"), HasSubstr("\"two\""));
  good({"uninstall", "claude", "--name", "two"});
  EXPECT_EQ(tree(), before);
}

// A colleague committed our entry: it isn't the state to restore.
TEST_F(InstallOrder, an_entry_that_was_already_in_the_file_is_removed_by_uninstall) {
  write(".mcp.json",
        R"({"mcpServers": {"mcpivot": {"command": "mcpivot", "args": ["--config", "mcpivot.json"]},)"
        R"( "a": {"command": "x"}}})");
  good({"install", "claude", "--scope", "project", "--import"});
  good({"uninstall", "claude", "--scope", "project"});
  EXPECT_EQ(boost::json::serialize(parsed(".mcp.json")), R"({"mcpServers":{"a":{"command":"x"}}})");
}

// A colleague reverts the file, or someone removes the entry: the next install starts from that state.
TEST_F(InstallOrder, an_install_after_a_manual_revert_can_be_uninstalled) {
  write(".cursor/mcp.json", "{\"mcpServers\": {}}\n");
  good({"install", "cursor"});
  write(".cursor/mcp.json", "{\"mcpServers\": { }, \"new\": 1}\n");
  good({"install", "cursor"});
  good({"uninstall", "cursor"});
  EXPECT_EQ(read(".cursor/mcp.json"), "{\"mcpServers\": { }, \"new\": 1}\n");
}

}  // namespace
}  // namespace harness
