// `mcpivot install` and `uninstall` are careful with files that aren't theirs: those that they can't read or
// write, symlinks, folders, names that are taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "installs.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class InstallCare : public Install {};

// One comma too many.
constexpr std::string_view odd_json = R"({
    // my own notes
    "theme" : "dark",,
    "mcpServers": {}
})";

TEST_F(InstallCare, an_invalid_file_is_not_touched) {
  write(".claude.json", odd_json);
  write(".codex/config.toml", "model = \"o3\n");
  for (const char* command : {"install", "uninstall"}) {
    const Outcome result = run({command, "claude"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr((folder() / ".claude.json").native() + ": line 3, column 22:"),
                                  HasSubstr("left unchanged")));
    EXPECT_THAT(run({command, "codex"}).err, HasSubstr("line 1, column 9: this string is not closed"));
  }
  EXPECT_EQ(read(".claude.json"), odd_json);
  EXPECT_EQ(files(), (std::vector<std::string>{".claude.json", ".codex/config.toml"}));
}

TEST_F(InstallCare, a_broken_mcpivot_configuration_is_not_touched_either) {
  write("config/mcpivot/mcpivot.json", "{ \"mcpServers\": ");
  write(".claude.json", lived_in);
  const Outcome result = run({"install", "claude", "--import"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(config() + ": line 1"));
  EXPECT_EQ(read(".claude.json"), lived_in);
}

TEST_F(InstallCare, a_symlink_stays_a_symlink) {
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
  EXPECT_THAT(run({"install", "cursor"}).err, HasSubstr("is a broken link"));
}

TEST_F(InstallCare, a_read_only_file_is_left_alone_and_nothing_is_left_half_done) {
  write(".cursor/mcp.json", "{}\n");
  fs::permissions(folder() / ".cursor/mcp.json", fs::perms(0444));
  const Outcome result = run({"install", "cursor"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("is read-only"), HasSubstr("chmod u+w")));
  EXPECT_EQ(files(), std::vector<std::string>{".cursor/mcp.json"});
}

TEST_F(InstallCare, uninstall_removes_only_folders_that_install_created) {
  write(".claude.json", lived_in);
  fs::create_directories(folder() / "config");
  const auto before = everything();
  good({"install", "claude", "--import"});
  EXPECT_TRUE(exists("config/mcpivot/mcpivot.json"));
  good({"uninstall", "claude"});
  EXPECT_EQ(everything(), before);

  // What two clients share is removed with the second one, in either order; what others added stays.
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

TEST_F(InstallCare, a_failed_install_changes_nothing_and_says_so) {
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
  // The symlink can't be created: a file is where its folder should be.
  write(".claude/skills", "a file");
  const auto without_skill = everything();
  EXPECT_THAT(run({"install", "skill"}).err, HasSubstr("Nothing was changed."));
  EXPECT_EQ(everything(), without_skill);
}

TEST_F(InstallCare, nothing_is_written_in_a_deleted_folder) {
  for (const std::string command : {"init", "install cursor --scope project"}) {
    fs::create_directories(folder() / "gone");
    const Outcome result =
        run_command({"sh", "-c", "cd gone && rmdir ../gone && exec " + mcpivot_binary() + " " + command});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("the current folder no longer exists"));
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(everything(), IsEmpty());
  }
}

TEST_F(InstallCare, an_entry_of_the_same_name_is_left_alone) {
  const std::string text = R"({"mcpServers": {"mcpivot": {"command": "other"}}})";
  write(".claude.json", text);
  EXPECT_THAT(run({"install", "claude"}).err, AllOf(HasSubstr("isn't mcpivot's"), HasSubstr("--name")));
  EXPECT_THAT(run({"uninstall", "claude"}).err, HasSubstr("isn't mcpivot's"));
  good({"install", "claude", "--name", "pivot"});
  EXPECT_TRUE(parsed(".claude.json").at("mcpServers").as_object().contains("pivot"));
  good({"uninstall", "claude", "--name", "pivot"});
  EXPECT_EQ(read(".claude.json"), text);
}

TEST_F(InstallCare, an_empty_file_is_treated_as_missing) {
  write(".gemini/settings.json", "\n");
  good({"install", "gemini"});
  EXPECT_TRUE(parsed(".gemini/settings.json").at("mcpServers").as_object().contains("mcpivot"));
  good({"uninstall", "gemini"});
  EXPECT_EQ(read(".gemini/settings.json"), "\n");
}

TEST_F(InstallCare, what_install_remembers_is_private) {
  write(".claude.json", lived_in);
  good({"install", "claude", "--import"});
  for (const auto& entry : fs::recursive_directory_iterator(folder() / "state/mcpivot/installed"))
    EXPECT_EQ(entry.status().permissions(), fs::perms(0600)) << entry.path();
  EXPECT_EQ(fs::status(folder() / "state/mcpivot/installed").permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(config()).permissions(), fs::perms(0600));
}

TEST_F(InstallCare, uninstall_works_without_what_install_remembered) {
  write(".claude.json", "{\n  \"a\": 1\n}");
  good({"install", "claude"});
  fs::remove_all(folder() / "state");
  good({"uninstall", "claude"});
  EXPECT_FALSE(parsed(".claude.json").at("mcpServers").as_object().contains("mcpivot"));
}

TEST_F(InstallCare, two_installs_at_the_same_time_both_succeed) {
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
