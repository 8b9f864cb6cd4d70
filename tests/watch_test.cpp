// Files change, and with them the server behind the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lives.h"

namespace {

using namespace harness;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// A server that has one more tool from its second life on.
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
  EXPECT_EQ(content_of(project.path() / "built.out"), "two");
}

TEST(Watch, a_failed_background_build_is_reported_once_and_the_old_server_serves) {
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
  EXPECT_THAT(told, AllOf(HasSubstr("a.txt:1: error: no good"), HasSubstr("is still serving")));
  EXPECT_EQ(client.call_text("pid"), pid);
}

TEST(Watch, a_save_while_a_new_server_hangs_is_picked_up) {
  const TemporaryDirectory project;
  write(project.path() / "a.txt", "good");
  Client client({.options = {"--cwd", project.path(), "--watch", "*.txt"},
                 .command = {"sh", "-c", "grep -q good a.txt || cat gate; exec " + fake_server_binary()}});
  Gate gate(project.path() / "gate");
  client.initialize();
  write(project.path() / "a.txt", "it hangs");
  ASSERT_TRUE(gate.wait_for_visitor());
  write(project.path() / "a.txt", "good again");
  EXPECT_TRUE(wait_until([&] { return status_of(client, "generation") == "3"; }, soon()));
}

TEST(Watch, a_file_that_no_glob_matches_changes_nothing) {
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
      told, AllOf(HasSubstr("generation 2"), HasSubstr("after a change to a.txt)"), Not(HasSubstr("other"))));
}

TEST(Watch, a_replaced_server_executable_is_swapped_in) {
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

// A program that runs these lines, and then the fake server with these options; put there in one step.
void put_program(const fs::path& program, const std::string& lines, const std::string& options) {
  const fs::path fresh = program.string() + ".new";
  write(fresh, "#!/bin/sh\n" + lines + "\nexec " + fake_server_binary() + " " + options + "\n");
  fs::permissions(fresh, fs::perms::owner_all);
  fs::rename(fresh, program);
}

// Found by chaos: the build replaces the program, which must not trigger another build, and so on forever.
TEST(Watch, a_build_that_replaces_the_executable_is_one_build_and_one_swap) {
  const TemporaryDirectory project;
  const fs::path program = project.path() / "server";
  put_program(program, "", "--name first");
  Client client(
      {.options = {"--cwd", project.path(), "--build", "echo x >> builds; cp server s && mv s server"},
       .command = {program}});
  client.initialize();
  EXPECT_THAT(client.call_text("pivot_rebuild"), HasSubstr("generation 2"));
  EXPECT_EQ(own(client, "echo", {{"text", "-"}}), "-");
  // Built elsewhere: it is swapped in unchanged.
  put_program(program, "", "--name second --tool fresh");
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(text_of(client.call("echo")), AllOf(HasSubstr("generation 3"), HasSubstr("was replaced")));
  EXPECT_THAT(lines_of(project.path() / "builds"), SizeIs(1));
}

TEST(Watch, an_executable_replaced_during_its_start_is_started_again) {
  const TemporaryDirectory project;
  Gate gate(project.path() / "gate");
  const fs::path program = project.path() / "server";
  put_program(program, "", "--name first");
  Client client({.command = {program}});
  client.initialize();
  put_program(program, "cat " + (project.path() / "gate").string(), "--name slow");
  ASSERT_TRUE(gate.wait_for_visitor());
  put_program(program, "", "--name third --tool fresh");
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(text_of(client.call("echo")), AllOf(HasSubstr("+fresh"), HasSubstr("was replaced")));
}

TEST(Watch, an_invalid_glob_is_rejected_with_a_reason) {
  Child child({mcpivot_binary(), "--watch", "src/[a", "--", "true"});
  EXPECT_TRUE(child.wait_stderr("src/[a", soon()));
}

}  // namespace
