// How the server's command is found, and what it gets.
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

TEST(Command, a_bare_name_is_looked_up_in_PATH) {
  const fs::path server = fake_server_binary();
  const std::string path = server.parent_path().native() + ":" + std::getenv("PATH");
  Client by_name({.command = {server.filename()}, .environment = {{"PATH", path}}});
  by_name.initialize();
  EXPECT_EQ(by_name.call_text("echo", {{"text", "found"}}), "found");

  Client through_a_shell({.command = {"sh", "-c", server.native() + "; true"}});
  through_a_shell.initialize();
  EXPECT_EQ(through_a_shell.call_text("echo", {{"text", "found"}}), "found");
}

TEST(Command, gets_its_arguments_environment_and_directory_unchanged) {
  const TemporaryDirectory directory;
  Client client({.options = {"--cwd", directory.path(), "--env", "FAKE_A=b=c", "--env", "FAKE_EMPTY="},
                 .server = {"--instructions", "a \"b\" $HOME *", "--name", ""}});
  client.initialize();
  EXPECT_EQ(client.call_text("args"), R"(["--instructions","a \"b\" $HOME *","--name",""])");
  EXPECT_EQ(client.call_text("env", {{"name", "FAKE_A"}}), "b=c");
  EXPECT_EQ(client.call_text("env", {{"name", "FAKE_EMPTY"}}), "");
  EXPECT_EQ(fs::canonical(client.call_text("cwd")), fs::canonical(directory.path()));
}

}  // namespace
}  // namespace harness
