// Files change, and the server behind the client with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness.h"

namespace {

using namespace harness;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// A server that has one tool more from its second life on.
const std::vector<std::string> growing = {"--lives", "lives", "--life", "2+", "--tool", "fresh"};

TEST(Watch, a_save_builds_and_swaps_and_the_model_is_told) {
  const TemporaryDirectory project;
  write(project.path() / "src/deep/a.txt", "one");
  Client client({.options = {"--cwd", project.path(), "--watch", "src/**/*.txt", "--build",
                             "cat src/deep/a.txt > built.out"},
                 .server = growing});
  client.initialize();
  client.call("echo", {{"text", "before"}});
  write(project.path() / "src/deep/a.txt", "two");
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(text_of(client.call("echo", {{"text", "after"}})),
              AllOf(HasSubstr("generation 2"), HasSubstr("+fresh"), HasSubstr("a.txt")));
  std::ifstream built(project.path() / "built.out");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(built), {}), "two");
}

TEST(Watch, a_build_that_fails_in_the_background_is_told_once_and_the_old_server_serves) {
  const TemporaryDirectory project;
  write(project.path() / "a.txt", "one");
  Client client({.options = {"--cwd", project.path(), "--watch", "*.txt", "--build",
                             "echo a.txt:1: error: no good; touch failed; false"},
                 .server = {}});
  client.initialize();
  const std::string pid = client.call_text("pid");
  write(project.path() / "a.txt", "broken");
  ASSERT_TRUE(wait_until([&] { return fs::exists(project.path() / "failed"); }, soon()));
  std::string told;
  ASSERT_TRUE(wait_until([&] { return (told = text_of(client.call("pid"))) != pid; }, soon()));
  EXPECT_THAT(told, AllOf(HasSubstr("a.txt:1: error: no good"), HasSubstr("still serves")));
  EXPECT_EQ(client.call_text("pid"), pid);
}

TEST(Watch, a_file_that_no_glob_names_changes_nothing) {
  const TemporaryDirectory project;
  write(project.path() / "a.txt", "one");
  Client client({.options = {"--cwd", project.path(), "--watch", "*.txt"}, .server = {"--lives", "lives"}});
  client.initialize();
  write(project.path() / "other.md", "x");
  write(project.path() / "a.txt", "two");
  // The swap that comes is that of a.txt alone.
  std::string told;
  ASSERT_TRUE(
      wait_until([&] { return (told = text_of(client.call("echo", {{"text", "-"}}))) != "-"; }, soon()));
  EXPECT_THAT(
      told, AllOf(HasSubstr("generation 2"), HasSubstr("after a change of a.txt)"), Not(HasSubstr("other"))));
}

TEST(Watch, the_servers_own_executable_replaced_is_swapped_in) {
  const TemporaryDirectory project;
  const fs::path program = project.path() / "server";
  write(program, "#!/bin/sh\nexec " + fake_server_binary() + " --name old\n");
  fs::permissions(program, fs::perms::owner_all);
  Client client({.command = {program}});
  client.initialize();
  write(project.path() / "next", "#!/bin/sh\nexec " + fake_server_binary() + " --name new --tool fresh\n");
  fs::permissions(project.path() / "next", fs::perms::owner_all);
  fs::rename(project.path() / "next", program);
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(text_of(client.call("echo", {{"text", "-"}})),
              AllOf(HasSubstr("+fresh"), HasSubstr("was replaced")));
}

TEST(Watch, a_glob_that_is_none_is_refused_with_a_reason) {
  Child child({mcpivot_binary(), "--watch", "src/[a", "--", "true"});
  EXPECT_TRUE(child.wait_stderr("src/[a", soon()));
}

}  // namespace
