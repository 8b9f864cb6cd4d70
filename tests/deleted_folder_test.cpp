// The folder in which mcpivot or a server runs is deleted: nothing else ends because of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_tools.h"
#include "daemons.h"
#include "gateways.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::HasSubstr;

// A client of an mcpivot that runs in the folder "gone".
ClientOptions in_a_folder(const std::string& config) {
  return {.command = {"sh", "-c", R"(mkdir gone && cd gone && exec "$0" --config ../mcpivot.json)",
                      mcpivot_binary()},
          .config = config,
          .direct = true};
}

bool is_ready(Client& client) {
  return wait_status(client, "state", "ready");
}

// What a user does next, whatever kind of server it is.
void expect_alive(Client& client) {
  EXPECT_EQ(status_of(client, "state"), "ready");
  const Outcome status = run_mcpivot({"status"}, client.directory());
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("ready"));
  client.child().signal(SIGHUP);
  EXPECT_TRUE(wait_until([&] { return status_of(client, "generation") != "1"; }, soon()));
  EXPECT_TRUE(is_ready(client));
}

void expect_end(Client& client) {
  client.child().close_stdin();
  EXPECT_EQ(client.child().wait_exit(soon()), 0) << client.child().stderr_text();
  EXPECT_THAT(client.child().stderr_text(), testing::Not(HasSubstr("a bug in mcpivot")));
}

// A program named relative to the folder: ".." is found even from a deleted one.
TEST(DeletedFolder, of_mcpivot_does_not_stop_a_process_server) {
  Client client(
      {.command = {"sh", "-c", R"(ln -s "$FAKE" server && mkdir gone && cd gone && exec "$0" -- ../server)",
                   mcpivot_binary()},
       .direct = true});
  client.initialize();
  ASSERT_TRUE(is_ready(client));
  fs::remove_all(client.directory() / "gone");
  expect_alive(client);
  EXPECT_TRUE(is_error(client.call("crash")));
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  expect_end(client);
}

TEST(DeletedFolder, of_mcpivot_does_not_stop_a_cli) {
  const FakeCli cli({cli_tool("one", {"args"}), cli_tool("two", {"args"}, {}, {{"cwd", "below"}})});
  const json::object entry = {{"cli", json::array{fake_cli_binary(), cli.schema().string()}}};
  Client client(in_a_folder(file_of({{"one", entry}})));
  client.initialize();
  ASSERT_TRUE(is_ready(client));
  fs::remove_all(client.directory() / "gone");
  expect_alive(client);
  EXPECT_FALSE(is_error(client.call("one")));
  EXPECT_TRUE(is_error(client.call("two"))) << "it has no folder to run in";
  EXPECT_FALSE(is_error(client.call("one")));
  expect_end(client);
}

TEST(DeletedFolder, of_mcpivot_does_not_stop_a_daemon) {
  FakeDaemon daemon;
  Client client(in_a_folder(file_of({{"one", json::object{{"url", daemon.url()}}}})));
  client.initialize();
  ASSERT_TRUE(is_ready(client));
  fs::remove_all(client.directory() / "gone");
  expect_alive(client);
  daemon.restart();
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  expect_end(client);
}

TEST(DeletedFolder, of_a_crashed_server_is_reported_until_it_exists_again) {
  const TemporaryDirectory folder;
  const fs::path own_folder = folder.path() / "own";
  fs::create_directory(own_folder);
  Client client(with({{"one", server({}, {{"cwd", own_folder.string()}})}}));
  client.initialize();
  ASSERT_TRUE(is_ready(client));
  fs::remove_all(own_folder);
  EXPECT_EQ(status_of(client, "state"), "ready");
  EXPECT_TRUE(is_error(client.call("crash")));
  ASSERT_TRUE(wait_status(client, "state", "failed"));
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("cannot start in the folder"));
  fs::create_directory(own_folder);
  EXPECT_TRUE(wait_until([&] { return own(client, "echo", {{"text", "again"}}) == "again"; }, soon()));
  expect_end(client);
}

}  // namespace
}  // namespace harness
