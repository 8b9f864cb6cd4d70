// A server is removed from the file, or stopped a second time, while it is being stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons.h"
#include "gateways.h"
#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string program_link(pid_t pid) {
  return "/proc/" + std::to_string(pid) + "/exe";
}

bool wait_removed(Client& client, const std::string& name) {
  return wait_until(
      [&] { return client.call_text("pivot_status").find("\n" + name + ": ") == std::string::npos; }, soon());
}

// The daemon is stopped by a command that waits at a gate.
json::object with_daemon(const FakeDaemon& daemon) {
  json::object servers = two();
  servers["app"] =
      json::object{{"url", daemon.url()}, {"stop_command", "cat gate; echo stopped"}, {"active", true}};
  return servers;
}

TEST(RemovedMeanwhile, the_stop_of_a_daemon_removed_from_the_file_is_answered) {
  const FakeDaemon daemon;
  Client client(with(with_daemon(daemon)));
  Gate gate(client.directory() / "gate");
  start(client, {"alpha", "app"});
  const auto stop = client.send_call("pivot_restart", {{"server", "app"}, {"stop", true}});
  ASSERT_TRUE(gate.wait_for_visitor());
  rewrite(client, file_of(two()));
  ASSERT_TRUE(wait_removed(client, "app"));
  gate.open();
  EXPECT_THAT(text_of(client.await(stop)), HasSubstr("stopped"));
}

TEST(RemovedMeanwhile, the_stop_of_a_daemon_removed_from_the_file_can_be_cancelled) {
  const FakeDaemon daemon;
  Client client(with(with_daemon(daemon)));
  Gate gate(client.directory() / "gate");
  start(client, {"alpha", "app"});
  const auto stop = client.send_call("pivot_restart", {{"server", "app"}, {"stop", true}});
  ASSERT_TRUE(gate.wait_for_visitor());
  rewrite(client, file_of(two()));
  ASSERT_TRUE(wait_removed(client, "app"));
  client.notify("notifications/cancelled", {{"requestId", stop}});
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "here"}}), "here");
  gate.open();
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "still"}}), "still");
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(RemovedMeanwhile, the_stop_of_a_process_removed_from_the_file_is_answered) {
  TemporaryDirectory folder;
  const std::string program = folder.path() / "server";
  fs::copy_file(fake_server_binary(), program);
  json::object servers = two();
  servers["app"] = json::object{
      {"command", program}, {"args", json::array{"--ignore-eof", "--ignore-term"}}, {"active", true}};
  Client client(with(servers));
  start(client, {"alpha", "app"});
  rewrite(client, file_of(two()));  // read while the server, which ignores every request to end, is ending
  const auto stop = client.send_call("pivot_restart", {{"server", "app"}, {"stop", true}});
  EXPECT_FALSE(is_error(client.await(stop)));
  EXPECT_TRUE(wait_removed(client, "app"));
}

TEST(RemovedMeanwhile, stopping_other_processes_of_a_program_outlives_the_removed_server) {
  TemporaryDirectory folder;
  const std::string program = folder.path() / "server";
  fs::copy_file(fake_server_binary(), program);
  Child other({program, "--ignore-term", "--ignore-eof"});
  json::object servers = two();
  servers["app"] =
      json::object{{"command", program}, {"args", json::array{"--ignore-eof"}}, {"active", true}};
  Client client(with(servers));
  start(client, {"alpha", "app"});
  rewrite(client, file_of(two()));  // read while the other process, which ignores SIGTERM, is being ended
  const auto stop = client.send_call("pivot_restart", {{"server", "app"}, {"stop", true}});
  EXPECT_THAT(text_of(client.await(stop)), HasSubstr(std::to_string(other.pid())));
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "here"}}), "here");
}

TEST(StoppedMeanwhile, requests_waiting_for_a_hung_start_are_answered_at_once) {
  Client client({.server = {"--hold", "initialize", "--ignore-eof"}, .own_program = true});
  const json::object hello{{"protocolVersion", "2025-06-18"},
                           {"capabilities", json::object()},
                           {"clientInfo", {{"name", "t"}, {"version", "1"}}}};
  const auto initialize = client.send("initialize", hello);
  const auto call = client.send_call("echo", {{"text", "early"}});
  const auto stop = client.send_call("pivot_restart", {{"stop", true}});
  const std::string words = text_of(client.await(stop));
  EXPECT_THAT(words, AllOf(HasSubstr("stopped: "), testing::Not(HasSubstr("was not running"))));
  EXPECT_THAT(text_of(client.await(call)), HasSubstr("it was stopped on request"));
  EXPECT_TRUE(client.await(initialize).contains("result"));
}

// Under ASan, this finds what outlives the timers.
TEST(StoppedMeanwhile, a_client_may_leave_while_other_processes_of_the_program_are_being_ended) {
  Client client({.server = {"--ignore-eof"}, .own_program = true});
  client.initialize();
  const std::string program = fs::read_symlink(program_link(server_pid(client)));
  Child other({program, "--ignore-term", "--ignore-eof"});
  client.send_call("pivot_restart", {{"stop", true}});
  EXPECT_TRUE(client.request("ping").contains("result"));
  client.child().close_stdin();
  const auto status = client.child().wait_exit(soon());
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, 0) << client.child().stderr_text();
}

TEST(Daemon, a_stop_during_a_reloads_stop_is_answered_and_it_stays_stopped) {
  FakeDaemon daemon;
  Client client(to(daemon.url(), {"--start", "touch started", "--stop", "cat gate; touch stopped"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  client.child().signal(SIGHUP);
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto stop = client.send_call("pivot_restart", {{"stop", true}});
  EXPECT_TRUE(client.request("ping").contains("result"));
  gate.open();
  EXPECT_THAT(text_of(client.await(stop)), HasSubstr("stopped: "));
  EXPECT_EQ(status_of(client, "state"), "stopped");
  EXPECT_FALSE(fs::exists(client.directory() / "started"));
}

}  // namespace
}  // namespace harness
