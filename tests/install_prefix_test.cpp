// What `cmake --install` puts into a prefix works from there, and the program needs nothing but an old enough
// glibc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>

#include "harness.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::StartsWith;

struct Said {
  int code = -1;
  std::string out;
  std::string err;
};

Said run(const std::vector<std::string>& command, const fs::path& directory) {
  Child child(command, private_folders(directory), directory);
  child.close_stdin();
  Said said;
  while (const auto line = child.read_line(in(std::chrono::seconds(30)))) said.out += *line + "\n";
  if (const auto status = child.wait_exit(soon()); status && WIFEXITED(*status))
    said.code = WEXITSTATUS(*status);
  said.err = child.stderr_text();
  return said;
}

std::string read_file(const fs::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(InstallPrefix, has_a_program_that_runs_and_finds_its_skill) {
  const TemporaryDirectory directory;
  const fs::path prefix = directory.path() / "prefix";
  const Said installed =
      run({CMAKE_PROGRAM, "--install", BUILD_DIRECTORY, "--prefix", prefix}, directory.path());
  ASSERT_EQ(installed.code, 0) << installed.out << installed.err;
  const std::string program = prefix / "bin/mcpivot";

  EXPECT_THAT(run({program, "--version"}, directory.path()).out, MatchesRegex("mcpivot [0-9.]+\n"));
  EXPECT_THAT(read_file(prefix / "share/doc/mcpivot/copyright"), StartsWith("MIT"));
  EXPECT_EQ(read_file(prefix / "share/man/man1/mcpivot.1"), run({program, "man"}, directory.path()).out);
  for (const auto& [shell, file] : {std::pair{"bash", "bash-completion/completions/mcpivot"},
                                    {"zsh", "zsh/site-functions/_mcpivot"},
                                    {"fish", "fish/vendor_completions.d/mcpivot.fish"}})
    EXPECT_EQ(read_file(prefix / "share" / file), run({program, "completion", shell}, directory.path()).out);

  const Said skill = run({program, "install", "skill"}, directory.path());
  EXPECT_EQ(skill.code, 0) << skill.err;
  std::vector<fs::path> links;
  for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
    if (entry.is_symlink()) links.push_back(entry.path());
  ASSERT_EQ(links.size(), 1U) << skill.out;
  EXPECT_EQ(fs::canonical(links[0]), fs::canonical(prefix / "share/mcpivot/skill/SKILL.md"));
}

// The newest version of glibc that the program asks for; and what other libraries it needs.
TEST(InstallPrefix, the_program_needs_only_the_glibc_that_the_documentation_says) {
  if (is_sanitized()) GTEST_SKIP() << "NOT RUN: a sanitizer brings libraries of its own";
  const TemporaryDirectory directory;
  const Said asked = run({PROJECT_DIRECTORY "/cmake/needed_glibc", mcpivot_binary()}, directory.path());
  ASSERT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(asked.out, "2.34\n") << "if that is meant, change it in docs/packaging.md, too";
  EXPECT_THAT(read_file(PROJECT_DIRECTORY "/docs/packaging.md"), HasSubstr("glibc 2.34"));
}

}  // namespace
}  // namespace harness
