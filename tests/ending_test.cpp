// mcpivot ends quickly and leaves nothing running, however it ends.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "lives.h"
#include "streams.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

// Clients kill mcpivot half a second after they have told it to end.
constexpr milliseconds patience_of_clients{500};

// ---- Every kind of server, every way to end.

struct Kind {
  const char* name;
  std::vector<std::string> server;
  bool in_shell = false;
};

class Ending : public testing::TestWithParam<Kind> {
 protected:
  static ClientOptions options() {
    ClientOptions options;
    if (GetParam().in_shell) {
      options.command = {"sh", "-c", "\"$@\"; true", "sh", fake_server_binary()};
      options.command.insert(options.command.end(), GetParam().server.begin(), GetParam().server.end());
    } else {
      options.server = GetParam().server;
    }
    return options;
  }

  // Ends mcpivot in this way and checks that everything is gone. Whether it was fast enough is judged by the
  // best of three tries, because a busy machine may be slow at any time.
  static void expect_quick_end(const std::function<void(Client&)>& end) {
    auto best = milliseconds::max();
    for (int i = 0; i < 3 && best > patience_of_clients; ++i) {
      Client client(options());
      client.initialize();
      const std::vector<pid_t> family = descendants_of(client.child().pid());
      ASSERT_GE(family.size(), 2U);
      const auto start = std::chrono::steady_clock::now();
      end(client);
      const auto status = client.child().wait_exit(soon());
      best = std::min(best, std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - start));
      ASSERT_TRUE(status);
      EXPECT_TRUE(WIFEXITED(*status)) << "died by signal " << WTERMSIG(*status);
      EXPECT_TRUE(wait_gone(family));
    }
    EXPECT_LT(best, is_instrumented() ? 5 * patience_of_clients : patience_of_clients);
  }

  // Kills mcpivot and checks that everything is gone even so.
  static void expect_no_orphans(const std::function<void(Client&)>& kill) {
    Client client(options());
    client.initialize();
    const std::vector<pid_t> family = descendants_of(client.child().pid());
    ASSERT_GE(family.size(), 2U);
    kill(client);
    const auto status = client.child().wait_exit(soon());
    ASSERT_TRUE(status && WIFSIGNALED(*status));
    EXPECT_TRUE(wait_gone(family));
  }
};

INSTANTIATE_TEST_SUITE_P(
    ServersThat, Ending,
    testing::Values(Kind{"are_proper", {}}, Kind{"ignore_eof", {"--ignore-eof"}},
                    Kind{"ignore_sigterm", {"--ignore-term"}},
                    Kind{"ignore_both", {"--ignore-eof", "--ignore-term"}},
                    Kind{"have_a_child", {"--fork", "plain"}},
                    Kind{"have_a_stubborn_child", {"--fork", "stubborn", "--ignore-eof", "--ignore-term"}},
                    Kind{"run_in_a_shell", {}, true},
                    Kind{"run_in_a_shell_and_ignore_both", {"--ignore-eof", "--ignore-term"}, true},
                    Kind{"run_in_a_shell_with_a_stubborn_child", {"--fork", "stubborn"}, true}),
    [](const testing::TestParamInfo<Kind>& kind) { return kind.param.name; });

TEST_P(Ending, by_eof_is_quick_and_leaves_no_process) {
  expect_quick_end([](Client& client) { client.child().close_stdin(); });
}

TEST_P(Ending, by_sigint_is_quick_and_leaves_no_process) {
  expect_quick_end([](Client& client) { client.child().signal(SIGINT); });
}

TEST_P(Ending, by_sigterm_is_quick_and_leaves_no_process) {
  expect_quick_end([](Client& client) { client.child().signal(SIGTERM); });
}

TEST_P(Ending, by_sigkill_leaves_no_process) {
  expect_no_orphans([](Client& client) { client.child().signal(SIGKILL); });
}

TEST_P(Ending, by_sigkill_to_the_whole_process_group_leaves_no_process) {
  expect_no_orphans([](Client& client) { kill(-client.child().pid(), SIGKILL); });
}

// ---- When one side doesn't read, so that buffers are full.

class EndingWhileStuck : public testing::Test {
 protected:
  static void expect_end(Child& child, const std::vector<pid_t>& family) {
    EXPECT_TRUE(child.wait_exit(soon())) << "it does not end";
    if (HasFailure()) child.signal(SIGKILL);
    EXPECT_TRUE(wait_gone(family));
  }

  // Sends requests until the server, which doesn't read, and mcpivot accept no more.
  static std::vector<pid_t> fill(Child& child) {
    std::string all;
    for (int id = 1; id <= 10'000; ++id) all += ping(id) + std::string(1'000, ' ') + "\n";
    child.offer(all, in(milliseconds(1)));
    std::vector<pid_t> family;
    std::size_t left = 0;
    do {
      left = child.unsent();
      family = wait_until_stuck(child);
      child.offer("", in(milliseconds(1)));
    } while (child.unsent() != left);
    EXPECT_GT(left, 0U);
    return family;
  }

  // A server that writes far more than all buffers can hold.
  static ClientOptions talkative() {
    ClientOptions options;
    options.command = {"seq", "-f", R"({"jsonrpc":"2.0","method":"n","params":{"n":%.0f}})", "1", "9999999"};
    return options;
  }

  TemporaryDirectory directory_;
};

TEST_F(EndingWhileStuck, a_client_that_does_not_read_can_end_it_with_a_signal) {
  Client client(talkative());
  client.child().pause_reading(true);
  const auto family = wait_until_stuck(client.child());
  client.child().signal(SIGTERM);
  expect_end(client.child(), family);
}

TEST_F(EndingWhileStuck, a_client_that_does_not_read_can_end_it_with_eof) {
  Client client(talkative());
  client.child().pause_reading(true);
  const auto family = wait_until_stuck(client.child());
  client.child().close_stdin();
  expect_end(client.child(), family);
}

TEST_F(EndingWhileStuck, a_client_that_dies_without_reading_ends_it) {
  Ends in = Ends::of_pipe();
  Ends out = Ends::of_pipe();
  Child child(mcpivot_command(talkative()), private_folders(directory_.path()), directory_.path(),
              {.in = in.read, .out = out.write});
  Ends::close_one(in.read);
  Ends::close_one(out.write);
  const auto family = wait_until_stuck(child);
  Ends::close_one(in.write);
  Ends::close_one(out.read);
  expect_end(child, family);
}

TEST_F(EndingWhileStuck, a_client_that_closes_only_its_reading_end_ends_it) {
  const Ends in = Ends::of_pipe();
  Ends out = Ends::of_pipe();
  Child child(mcpivot_command(talkative()), private_folders(directory_.path()), directory_.path(),
              {.in = in.read, .out = out.write});
  Ends::close_one(out.write);
  const auto family = wait_until_stuck(child);
  Ends::close_one(out.read);
  expect_end(child, family);
}

TEST_F(EndingWhileStuck, a_signal_ends_it_while_the_server_does_not_read) {
  Client client({.server = {"--ignore-eof"}});
  client.call("stop_reading");
  const auto family = fill(client.child());
  client.child().signal(SIGTERM);
  expect_end(client.child(), family);
}

// The end of its input comes after requests that nobody reads.
TEST_F(EndingWhileStuck, a_client_that_dies_ends_it_while_the_server_does_not_read) {
  ClientOptions options;
  options.command = {"sleep", "600"};
  Ends in = Ends::of_pipe();
  Ends out = Ends::of_pipe();
  Child child(mcpivot_command(options), private_folders(directory_.path()), directory_.path(),
              {.in = in.read, .out = out.write});
  Ends::close_one(in.read);
  Ends::close_one(out.write);
  fcntl(in.write, F_SETFL, O_NONBLOCK);
  const std::string line = ping(1) + std::string(1'000, ' ') + "\n";
  std::vector<pid_t> family;
  bool took_some = true;
  while (took_some) {
    took_some = false;
    while (write(in.write, line.data(), line.size()) > 0) took_some = true;
    family = wait_until_stuck(child);
  }
  Ends::close_one(in.write);
  Ends::close_one(out.read);
  expect_end(child, family);
}

// ---- Other ends.

TEST(ProcessCare, a_kill_at_any_moment_of_the_start_leaves_no_process) {
  for (std::size_t moment = 0; moment < 4; ++moment) {
    for (int i = 0; i < 5; ++i) {
      SCOPED_TRACE(moment);
      const TemporaryDirectory directory;
      const std::string marker = directory.path() / "marker";
      Child child(mcpivot_command({.server = {"--fork", "stubborn", "--ignore-eof", "--journal", marker}}),
                  private_folders(directory.path()), directory.path());
      wait_until([&] { return descendants_of(child.pid()).size() >= moment; }, soon());
      child.signal(SIGKILL);
      ASSERT_TRUE(child.wait_exit(soon()));
      const auto marked = [&] {
        for (const auto& entry : fs::directory_iterator("/proc"))
          if (content_of(entry.path() / "cmdline").find(marker) != std::string::npos) return true;
        return false;
      };
      EXPECT_TRUE(wait_until([&] { return !marked(); }, soon()));
    }
  }
}

TEST(ProcessCare, a_request_in_flight_is_answered_when_mcpivot_is_told_to_end) {
  for (const bool by_signal : {false, true}) {
    Client client;
    client.initialize();
    const auto call = client.send_call("sleep", {{"ms", 600'000}});
    client.call("echo");  // the server has it
    if (by_signal) {
      client.child().signal(SIGTERM);
    } else {
      client.child().close_stdin();
    }
    EXPECT_THAT(text_of(client.await(call)), HasSubstr("mcpivot is shutting down"));
    EXPECT_TRUE(client.child().wait_end(soon()));
  }
}

TEST(ProcessCare, requests_that_wait_are_answered_when_mcpivot_is_told_to_end) {
  for (const bool by_signal : {false, true}) {
    Client client(changing({"--build", "true"}, {"--tap", "tap", "--hold", "initialize"}));
    client.initialize();
    client.call("crash");
    ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
    const std::vector<std::int64_t> waiting{
        client.send_call("echo"), client.send("prompts/get", {{"name", "greet"}}),
        client.send_call("pivot_restart"), client.send_call("pivot_rebuild")};
    client.call("pivot_status");  // they have all arrived by now
    if (by_signal) {
      client.child().signal(SIGTERM);
    } else {
      client.child().close_stdin();
    }
    for (const auto id : waiting)
      EXPECT_THAT(boost::json::serialize(client.await(id)), HasSubstr("mcpivot is shutting down"));
    EXPECT_TRUE(client.child().wait_end(soon()));
  }
}

TEST(ProcessCare, a_client_that_sends_everything_and_closes_stdin_gets_every_response) {
  Client client({.server = {"--hold", "initialize"}});
  const auto hello = client.send("initialize", {{"protocolVersion", "2025-06-18"},
                                                {"capabilities", boost::json::object()},
                                                {"clientInfo", {{"name", "script"}, {"version", "1"}}}});
  client.notify("notifications/initialized");
  const auto list = client.send("tools/list");
  const auto call = client.send_call("echo");
  client.child().close_stdin();
  for (const auto id : {hello, list}) EXPECT_TRUE(client.await(id).contains("result"));
  EXPECT_THAT(text_of(client.await(call)), HasSubstr("mcpivot is shutting down"));
  EXPECT_TRUE(client.child().wait_end(soon()));
}

// As some clients send them, one after another; and with a reload in between.
TEST(ProcessCare, more_signals_while_it_ends_change_nothing) {
  for (const std::vector<int>& numbers : {std::vector{SIGINT, SIGTERM, SIGINT}, {SIGHUP, SIGTERM, SIGHUP}}) {
    Client client({.server = {"--ignore-eof", "--ignore-term", "--fork", "stubborn"}});
    client.initialize();
    const std::vector<pid_t> family = descendants_of(client.child().pid());
    for (const int number : numbers) client.child().signal(number);
    const auto status = client.child().wait_exit(soon());
    EXPECT_TRUE(status && WIFEXITED(*status));
    EXPECT_TRUE(wait_gone(family));
  }
}

TEST(ProcessCare, a_process_outside_the_group_that_holds_the_pipes_does_not_delay_the_end) {
  ClientOptions options;
  options.command = {"sh", "-c", "setsid sh -c 'echo $$ >&2; exec sleep 600' & exec \"$0\"",
                     fake_server_binary()};
  Client client(options);
  client.initialize();
  ASSERT_TRUE(client.child().wait_stderr("\n", soon()));
  const pid_t escaped = std::stoi(client.child().stderr_text());
  client.child().close_stdin();
  EXPECT_TRUE(client.child().wait_exit(soon()));
  kill(escaped, SIGKILL);
}

}  // namespace
}  // namespace harness
