// Daemons that mcpivot starts and stops because it is configured to, and daemons that it leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A daemon that exists only as a command; whatever it leaves behind is killed at the end.
class Unstarted {
 public:
  ~Unstarted() {
    for (const pid_t pid : pids()) ::kill(pid, SIGKILL);
  }
  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/mcp"; }
  // Each start adds a line to a file.
  std::string command() const {
    return "echo $$ >> " + pid_file() + "; exec " + fake_daemon_binary() + " --port " +
           std::to_string(port_) + " --journal " + (directory_.path() / "journal").string();
  }
  std::vector<pid_t> pids() const {
    std::vector<pid_t> found;
    for (const std::string& line : lines_of(pid_file())) found.push_back(std::stoi(line));
    return found;
  }
  std::size_t alive() const {
    const auto all = pids();
    return static_cast<std::size_t>(std::ranges::count_if(all, process_alive));
  }
  void kill() const {
    for (const pid_t pid : pids()) ::kill(pid, SIGKILL);
    // Until the last of its threads, which hold its connections open, has ended.
    for (const pid_t pid : pids()) EXPECT_TRUE(wait_until([&] { return ::kill(pid, 0) != 0; }, soon()));
  }
  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  std::string pid_file() const { return directory_.path() / "pids"; }
  TemporaryDirectory directory_;
  int port_ = free_port();
};

ClientOptions behind(const Unstarted& daemon, Strings more = {}) {
  Strings options = {"--url", daemon.url(), "--name", "app"};
  options.insert(options.end(), more.begin(), more.end());
  return {.options = std::move(options)};
}

TEST(HttpStart, a_daemon_that_does_not_listen_is_started_and_outlives_mcpivot) {
  const Unstarted daemon;
  {
    Client client(behind(daemon, {"--start", daemon.command()}));
    EXPECT_EQ(client.initialize().at("result").at("serverInfo").at("name"), "fake-daemon");
    EXPECT_EQ(client.call_text("echo", {{"text", "up"}}), "up");
    EXPECT_THAT(status_of(client, "daemon started by mcpivot"), HasSubstr("pid"));
    EXPECT_THAT(client.call_text("pivot_logs"), HasSubstr("listening on"));
    client.child().close_stdin();
    EXPECT_EQ(client.child().wait_exit(soon()), 0);
  }
  EXPECT_EQ(daemon.pids().size(), 1u);
  EXPECT_EQ(daemon.alive(), 1u);
}

TEST(HttpStart, a_daemon_that_listens_is_left_alone) {
  FakeDaemon daemon;
  const Unstarted other;
  Client client({.options = {"--url", daemon.url(), "--start", other.command()}});
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "x"}}), "x");
  EXPECT_TRUE(other.pids().empty());
  const json::object answer = client.call("pivot_restart", {{"stop", true}});
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("mcpivot did not start this daemon"));
  EXPECT_TRUE(process_alive(daemon.pid()));
  EXPECT_EQ(client.call_text("echo", {{"text", "y"}}), "y");
}

TEST(HttpStart, only_one_of_many_mcpivots_starts_it) {
  const Unstarted daemon;
  const TemporaryDirectory state;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 6; ++i) {
    ClientOptions options = behind(daemon, {"--start", daemon.command()});
    options.environment = {{"XDG_STATE_HOME", state.path()}};
    clients.push_back(std::make_unique<Client>(options));
  }
  for (const auto& client : clients)
    client->send("initialize", {{"protocolVersion", "2025-06-18"},
                                {"capabilities", json::object()},
                                {"clientInfo", {{"name", "t"}, {"version", "1"}}}});
  for (const auto& client : clients)
    EXPECT_EQ(client->await(1).at("result").at("serverInfo").at("name"), "fake-daemon");
  EXPECT_EQ(daemon.pids().size(), 1u);
}

TEST(HttpStart, does_not_interfere_with_a_manual_restart) {
  const Unstarted daemon;
  Client client(behind(daemon, {"--start", daemon.command(), "--start-after", "60s"}));
  client.initialize();
  daemon.kill();
  const std::int64_t id = client.send_call("echo", {{"text", "patient"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  const FakeDaemon by_hand(daemon.port(), {});
  EXPECT_EQ(own_text(client.await(id)), "patient");
  EXPECT_EQ(daemon.pids().size(), 1u);
}

TEST(HttpStart, a_daemon_that_stays_away_is_started_for_a_waiting_request) {
  const Unstarted daemon;
  Client client(behind(daemon, {"--start", daemon.command(), "--start-after", "500ms"}));
  client.initialize();
  daemon.kill();
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  EXPECT_EQ(daemon.pids().size(), 2u);
}

TEST(HttpStart, a_failing_start_command_is_reported_with_its_output) {
  const Unstarted daemon;
  Client client(behind(daemon, {"--start", "echo no such port; exit 3", "--queue-timeout", "1s"}));
  const std::string hello = json::serialize(client.initialize());
  EXPECT_THAT(hello, AllOf(HasSubstr("exited with code 3"), HasSubstr("no such port")));
}

TEST(HttpStop, stops_a_daemon_that_we_started_and_the_next_call_starts_it) {
  const Unstarted daemon;
  Client client(behind(daemon, {"--start", daemon.command()}));
  client.initialize();
  const json::object stopped = client.call("pivot_restart", {{"stop", true}});
  EXPECT_FALSE(is_error(stopped));
  EXPECT_THAT(text_of(stopped), AllOf(HasSubstr("SIGTERM"), HasSubstr("next call")));
  EXPECT_EQ(daemon.alive(), 0u);
  EXPECT_EQ(status_of(client, "state"), "stopped");
  EXPECT_EQ(own(client, "echo", {{"text", "back"}}), "back");
  EXPECT_EQ(daemon.pids().size(), 2u);
}

TEST(HttpStop, runs_the_stop_command_if_there_is_one) {
  FakeDaemon daemon;
  Client client(
      {.options = {"--url", daemon.url(), "--stop", "kill " + std::to_string(daemon.pid()) + "; echo bye"}});
  client.initialize();
  const json::object stopped = client.call("pivot_restart", {{"stop", true}});
  EXPECT_FALSE(is_error(stopped)) << text_of(stopped);
  EXPECT_THAT(text_of(stopped), AllOf(HasSubstr("bye"), HasSubstr("Start it yourself")));
  EXPECT_TRUE(wait_gone({daemon.pid()}));
  const std::int64_t id = client.send_call("echo", {{"text", "when?"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  daemon.restart();
  EXPECT_EQ(own_text(client.await(id)), "when?");
}

TEST(HttpRestart, without_a_stop_opens_a_new_session_with_the_same_daemon) {
  const FakeDaemon daemon;
  Client client({.options = {"--url", daemon.url()}});
  client.initialize();
  EXPECT_THAT(text_of(client.call("pivot_restart")),
              AllOf(HasSubstr("session 2"), HasSubstr("not restarted")));
  EXPECT_TRUE(daemon.wait_journal("1 DELETE "));
  EXPECT_EQ(client.call_text("echo", {{"text", "x"}}), "x");
}

TEST(HttpRestart, of_a_daemon_that_is_away_says_so_and_what_to_do) {
  FakeDaemon daemon;
  Client client({.options = {"--name", "app", "--url", daemon.url()}});
  client.initialize();
  daemon.kill();
  const json::object answer = client.call("pivot_restart");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer),
              AllOf(testing::StartsWith("[mcpivot] \"app\" is away: it could not be reached at "),
                    testing::EndsWith("\nNext: start it, then call again; mcpivot reconnects by "
                                      "itself.")));
}

TEST(HttpRebuild, builds_then_stops_then_starts) {
  const Unstarted daemon;
  const std::string built = daemon.directory() / "built";
  Client client(behind(
      daemon, {"--start", "test -e " + built + " && tool='--tool new_tool'; " + daemon.command() + " $tool",
               "--build", "touch " + built}));
  client.initialize();
  EXPECT_THAT(tools_of(client), Not(Contains("new_tool")));
  const json::object answer = client.call("pivot_rebuild", {}, in(seconds(20)));
  EXPECT_FALSE(is_error(answer)) << text_of(answer);
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("+new_tool"), HasSubstr("daemon was restarted")));
  EXPECT_THAT(tools_of(client), Contains("new_tool"));
  EXPECT_EQ(daemon.alive(), 1u);
}

TEST(HttpRebuild, that_fails_leaves_the_daemon_alone) {
  const Unstarted daemon;
  Client client(behind(daemon, {"--start", daemon.command(), "--build", "echo broken; exit 1"}));
  client.initialize();
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("broken"));
  EXPECT_EQ(client.call_text("echo", {{"text", "same"}}), "same");
  EXPECT_EQ(daemon.pids().size(), 1u);
}

TEST(HttpRebuild, a_saved_file_restarts_the_daemon) {
  Unstarted daemon;
  Client client(behind(daemon, {"--start", daemon.command(), "--watch", "*.src"}));
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "1"}}), "1");
  std::ofstream(client.directory() / "a.src") << "changed";
  ASSERT_TRUE(wait_until([&] { return daemon.pids().size() == 2; }, soon()));
  ASSERT_TRUE(wait_status(client, "reconnects", "1"));
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("a.src"));
  EXPECT_EQ(daemon.alive(), 1u);
}

}  // namespace
}  // namespace harness
