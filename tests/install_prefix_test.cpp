// What `cmake --install` puts into a prefix works from there, and the program needs nothing but an old enough
// glibc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

Outcome run(const Strings& command, const fs::path& directory) {
  return run_to_end(command, private_folders(directory), directory, std::chrono::seconds(30));
}

TEST(InstallPrefix, contains_a_program_that_runs_and_finds_its_skill) {
  const TemporaryDirectory directory;
  const fs::path prefix = directory.path() / "prefix";
  const Outcome installed =
      run({CMAKE_PROGRAM, "--install", build_directory(), "--prefix", prefix}, directory.path());
  ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  const std::string program = prefix / "bin/mcpivot";

  EXPECT_THAT(run({program, "--version"}, directory.path()).out, MatchesRegex("mcpivot [0-9.]+\n"));
  EXPECT_THAT(content_of(prefix / "share/doc/mcpivot/copyright"), StartsWith("MIT"));
  EXPECT_EQ(content_of(prefix / "share/man/man1/mcpivot.1"), run({program, "man"}, directory.path()).out);
  for (const auto& [shell, file] : {std::pair{"bash", "bash-completion/completions/mcpivot"},
                                    {"zsh", "zsh/site-functions/_mcpivot"},
                                    {"fish", "fish/vendor_completions.d/mcpivot.fish"}})
    EXPECT_EQ(content_of(prefix / "share" / file), run({program, "completion", shell}, directory.path()).out);

  const Outcome skill = run({program, "install", "skill"}, directory.path());
  EXPECT_EQ(skill.exit_code, 0) << skill.err;
  std::vector<fs::path> links;
  for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
    if (entry.is_symlink()) links.push_back(entry.path());
  ASSERT_EQ(links.size(), 1U) << skill.out;
  EXPECT_EQ(fs::canonical(links[0]), fs::canonical(prefix / "share/mcpivot/skill/SKILL.md"));
}

// A unit that systemd doesn't understand starts nothing, or ignores what should protect the system.
TEST(InstallPrefix, the_systemd_unit_is_valid) {
  const TemporaryDirectory directory;
  const fs::path prefix = directory.path() / "prefix";
  ASSERT_EQ(
      run({CMAKE_PROGRAM, "--install", build_directory(), "--prefix", prefix}, directory.path()).exit_code,
      0);
  std::string unit = content_of(prefix / "lib/systemd/system/mcpivot.service");
  const std::string start = "ExecStart=mcpivot ";  // systemd looks for it in /usr/local/bin and /usr/bin
  ASSERT_THAT(unit, HasSubstr(start));
  unit.replace(unit.find(start), start.size(), "ExecStart=" + (prefix / "bin/mcpivot").native() + " ");
  const std::string file = directory.path() / "mcpivot.service";
  const auto verify = [&](const std::string& text) {
    std::ofstream(file) << text;
    return run({"systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file}, directory.path());
  };
  const Outcome verified = verify(unit);
  EXPECT_EQ(verified.exit_code, 0) << "./dev test installs systemd, for systemd-analyze";
  EXPECT_EQ(verified.out + verified.err, "");
  const Outcome wrong = verify(unit + "[Service]\nKillMood=mixed\n");
  EXPECT_THAT(wrong.out + wrong.err, HasSubstr("KillMood"));  // it does check these
}

// The newest version of glibc that the program requires; and which other libraries it needs.
TEST(InstallPrefix, the_program_needs_only_the_documented_glibc) {
  if (is_instrumented()) GTEST_SKIP() << "NOT RUN: an instrumented build needs libraries of its own";
  const TemporaryDirectory directory;
  const Outcome asked = run({PROJECT_DIRECTORY "/cmake/needed_glibc", mcpivot_binary()}, directory.path());
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_EQ(asked.out, "2.34\n") << "if that is meant, change it in docs/packaging.md, too";
  EXPECT_THAT(content_of(PROJECT_DIRECTORY "/docs/packaging.md"), HasSubstr("glibc 2.34"));
}

}  // namespace
}  // namespace harness
