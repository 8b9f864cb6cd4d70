// `mcpivot install skill`: the file that tells an AI how to use mcpivot, where the AI looks for such files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "installs.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class InstallSkill : public Install {};

TEST_F(InstallSkill, the_skill_is_a_symlink_to_mcpivots_file) {
  EXPECT_THAT(good({"install", "skill", "--dry-run"}).out, HasSubstr(".claude/skills/mcpivot/SKILL.md"));
  EXPECT_THAT(files(), IsEmpty());
  good({"install", "skill"});
  const fs::path link = folder() / ".claude/skills/mcpivot/SKILL.md";
  ASSERT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::read_symlink(link), folder() / "data/mcpivot/skill/SKILL.md");
  const std::string expected = content_of(PROJECT_DIRECTORY "/share/skill/SKILL.md");
  EXPECT_EQ(read(".claude/skills/mcpivot/SKILL.md"), expected);
  EXPECT_TRUE(expected.starts_with("---\nname: mcpivot\ndescription: "));

  // An older version's text is updated by the next installation, and by the next run.
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

// As a package installs it: the name in PATH is registered, not this version's file, and the skill is
// the package's.
TEST_F(InstallSkill, a_packaged_mcpivot_registers_paths_that_upgrades_keep) {
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

TEST_F(InstallSkill, another_skill_of_that_name_is_left_alone) {
  write(".claude/skills/mcpivot/SKILL.md", "mine");
  EXPECT_THAT(run({"install", "skill"}).err, HasSubstr("isn't mcpivot's"));
  EXPECT_THAT(run({"uninstall", "skill"}).err, HasSubstr("isn't mcpivot's"));
  EXPECT_EQ(read(".claude/skills/mcpivot/SKILL.md"), "mine");
}

}  // namespace
}  // namespace harness
