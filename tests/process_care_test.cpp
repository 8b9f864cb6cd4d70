// mcpivot ends quickly and leaves nothing running, however it ends; and goes on, whatever its server does.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Clients kill mcpivot half a second after they told it to end.
constexpr milliseconds patience_of_clients{500};

bool all_gone(const std::vector<pid_t>& pids) {
  return wait_until([&] { return std::ranges::none_of(pids, process_alive); }, soon());
}

std::string read_file(const fs::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ping(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"ping"})";
}

std::string ping_answer(int id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{}})";
}

// A server that answers pings and starts faster than a program of ours.
const std::vector<std::string> quick_server = {"sed", "-u", R"(s/"method":"ping"/"result":{}/)"};

// Two ends of a pipe or a pair of sockets, closed at the end.
struct Ends {
  int read = -1;
  int write = -1;

  static Ends of_pipe() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    return {fds[0], fds[1]};
  }
  Ends(int read_end, int write_end) : read(read_end), write(write_end) {}
  ~Ends() {
    close_one(read);
    close_one(write);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  static void close_one(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

void write_all(int fd, std::string_view bytes) {
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

// ---- How it ends. Every kind of server, every way to end.

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

  // Ends mcpivot in this way and sees that everything is gone. Whether it was fast enough is judged by the
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
      EXPECT_TRUE(all_gone(family));
    }
    EXPECT_LT(best, is_sanitized() ? 5 * patience_of_clients : patience_of_clients);
  }

  // Kills mcpivot and sees that everything is gone nevertheless.
  static void expect_no_orphans(const std::function<void(Client&)>& kill) {
    Client client(options());
    client.initialize();
    const std::vector<pid_t> family = descendants_of(client.child().pid());
    ASSERT_GE(family.size(), 2U);
    kill(client);
    const auto status = client.child().wait_exit(soon());
    ASSERT_TRUE(status && WIFSIGNALED(*status));
    EXPECT_TRUE(all_gone(family));
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

TEST_P(Ending, by_eof_is_quick_and_leaves_nothing) {
  expect_quick_end([](Client& client) { client.child().close_stdin(); });
}

TEST_P(Ending, by_sigint_is_quick_and_leaves_nothing) {
  expect_quick_end([](Client& client) { client.child().signal(SIGINT); });
}

TEST_P(Ending, by_sigterm_is_quick_and_leaves_nothing) {
  expect_quick_end([](Client& client) { client.child().signal(SIGTERM); });
}

TEST_P(Ending, by_sigkill_leaves_nothing) {
  expect_no_orphans([](Client& client) { client.child().signal(SIGKILL); });
}

TEST_P(Ending, by_sigkill_to_the_whole_process_group_leaves_nothing) {
  expect_no_orphans([](Client& client) { kill(-client.child().pid(), SIGKILL); });
}

// ---- How it ends when somebody does not read, so that buffers are full.

class EndingWhileStuck : public testing::Test {
 protected:
  static void expect_end(Child& child, const std::vector<pid_t>& family) {
    EXPECT_TRUE(child.wait_exit(soon())) << "it does not end";
    if (HasFailure()) child.signal(SIGKILL);
    EXPECT_TRUE(all_gone(family));
  }

  // Until mcpivot and all that it has started wait for somebody. Returns what it has started.
  static std::vector<pid_t> wait_until_stuck(Child& child) {
    std::vector<pid_t> all;
    std::vector<pid_t> before;
    do {
      if (!process_alive(child.pid())) throw std::runtime_error("mcpivot died: " + child.stderr_text());
      before = all;
      all = descendants_of(child.pid());
      all.push_back(child.pid());
      EXPECT_TRUE(wait_at_rest(all, soon()));
    } while (all != before || all.size() < 2);
    all.pop_back();
    return all;
  }

  // Sends requests until the server, which does not read, and mcpivot take no more.
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

  // A server that writes far more than all buffers hold.
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

TEST_F(EndingWhileStuck, a_client_that_dies_without_having_read_ends_it) {
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

// The end of its input is behind requests that nobody takes.
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

TEST(ProcessCare, a_kill_at_any_moment_of_the_start_leaves_nothing) {
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
          if (read_file(entry.path() / "cmdline").find(marker) != std::string::npos) return true;
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
    EXPECT_THAT(text_of(client.await(call)), HasSubstr("mcpivot ends"));
    EXPECT_TRUE(client.child().wait_end(soon()));
  }
}

// As some clients send them, one after the other; and with a reload in between.
TEST(ProcessCare, more_signals_while_it_ends_change_nothing) {
  for (const std::vector<int>& numbers : {std::vector{SIGINT, SIGTERM, SIGINT}, {SIGHUP, SIGTERM, SIGHUP}}) {
    Client client({.server = {"--ignore-eof", "--ignore-term", "--fork", "stubborn"}});
    client.initialize();
    const std::vector<pid_t> family = descendants_of(client.child().pid());
    for (const int number : numbers) client.child().signal(number);
    const auto status = client.child().wait_exit(soon());
    EXPECT_TRUE(status && WIFEXITED(*status));
    EXPECT_TRUE(all_gone(family));
  }
}

TEST(ProcessCare, a_process_that_left_the_group_with_the_pipes_open_does_not_hold_the_end_up) {
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

// ---- What it gives to a server, and takes from it.

// The signals that this process ignores or blocks, as bits; without the two that libraries keep to
// themselves.
std::uint64_t signals(pid_t pid, const std::string& line) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
  const std::string bits = status.substr(status.find(line + ":") + line.size() + 1);
  return std::stoull(bits, nullptr, 16) & ~0x180000000U;
}

TEST(ProcessCare, a_server_gets_its_three_pipes_and_nothing_else) {
  ClientOptions options;
  options.command = quick_server;
  Client client(options);
  client.request("ping");
  for (const pid_t pid : children_of(client.child().pid())) {
    if (command_name(pid) != "sed") continue;
    EXPECT_EQ(open_fds(pid), 3U);
    EXPECT_EQ(getpgid(pid), pid);
    EXPECT_EQ(signals(pid, "SigIgn"), 0U);
    EXPECT_EQ(signals(pid, "SigBlk"), 0U);
    return;
  }
  FAIL() << "no server";
}

TEST(ProcessCare, what_the_server_writes_to_stderr_reaches_stderr_and_the_log) {
  Client client;
  client.initialize();
  client.call("stderr", {{"text", "a word from the server"}, {"lines", 2}});
  EXPECT_TRUE(client.child().wait_stderr("a word from the server\na word from the server\n", soon()));
  const fs::path log = client.directory() / "state" / "mcpivot" / "fake_server.log";
  EXPECT_TRUE(
      wait_until([&] { return read_file(log).find("a word from the server") != std::string::npos; }, soon()));
}

TEST(ProcessCare, a_flood_on_stderr_that_nobody_reads_holds_nothing_up) {
  const Ends err = Ends::of_pipe();
  const TemporaryDirectory directory;
  Child child(mcpivot_command({.server = {"--stderr-flood", "50000"}}), private_folders(directory.path()),
              directory.path(), {.err = err.write});
  child.send_line(ping(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  child.close_stdin();
  EXPECT_TRUE(child.wait_exit(soon()));
}

// A warning about the log is the first thing that mcpivot may have to say.
TEST(ProcessCare, a_stderr_whose_reader_is_gone_is_no_reason_to_die) {
  Ends err = Ends::of_pipe();
  Ends::close_one(err.read);
  const TemporaryDirectory directory;
  for (const std::string log : {"log", "/dev/null/impossible"}) {
    SCOPED_TRACE(log);
    Child child(mcpivot_command({.options = {"--log", log}, .server = {"--stderr-flood", "1000"}}),
                private_folders(directory.path()), directory.path(), {.err = err.write});
    child.send_line(ping(1));
    EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  }
}

TEST(ProcessCare, it_runs_with_stderr_closed) {
  const TemporaryDirectory directory;
  std::vector<std::string> command = {"sh", "-c", "exec \"$@\" 2>&-", "sh"};
  std::ranges::copy(mcpivot_command({.server = {"--stderr-flood", "1000", "--garbage", "not a message"}}),
                    std::back_inserter(command));
  Child child(command, private_folders(directory.path()), directory.path());
  child.send_line(ping(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
}

// ---- A server that dies, or does not live.

struct Death {
  json::object arguments;  // of the tool "crash"
  const char* how;
};

TEST(ProcessCare, requests_in_flight_when_the_server_dies_are_answered_with_how) {
  const std::vector<Death> deaths = {{{{"signal", "SIGSEGV"}}, "SIGSEGV"},
                                     {{{"signal", "SIGKILL"}}, "SIGKILL"},
                                     {{{"exit_code", 0}}, "code 0"},
                                     {{{"exit_code", 3}}, "code 3"}};
  for (const Death& death : deaths) {
    SCOPED_TRACE(death.how);
    Client client;
    client.initialize();
    const auto sleeping = client.send_call("sleep", {{"ms", 600'000}});
    const auto crashing = client.send_call("crash", death.arguments);
    EXPECT_THAT(text_of(client.await(sleeping)), AllOf(HasSubstr(death.how), HasSubstr("fake_server")));
    EXPECT_THAT(text_of(client.await(crashing)), AllOf(HasSubstr(death.how), HasSubstr("crash")));
    EXPECT_TRUE(client.request("tools/list").contains("result")) << "from the catalog";
    EXPECT_THAT(client.answers, IsEmpty()) << "something was answered twice";
    EXPECT_TRUE(process_alive(client.child().pid()));
    client.child().close_stdin();
    EXPECT_EQ(client.child().wait_exit(soon()), 0);
  }
}

TEST(ProcessCare, the_last_words_of_a_server_are_in_the_error) {
  Client client;
  client.initialize();
  EXPECT_THAT(text_of(client.call("crash", {{"stderr", "panic: out of cheese"}})),
              AllOf(HasSubstr("SIGABRT"), HasSubstr("panic: out of cheese")));
}

TEST(ProcessCare, last_words_that_are_not_utf8_do_not_break_the_answer) {
  ClientOptions options;
  // The second is cut in the middle of a character where the ring cuts long lines.
  for (const char* script : {R"(read -r line; printf 'caf\351 \377\n' >&2; exit 3)",
                             R"(read -r line; printf 'x' >&2; yes '€' | head -n 3000 | tr -d '\n' >&2
                                echo >&2; exit 3)"}) {
    options.command = {"sh", "-c", script};
    Client client(options);
    EXPECT_THAT(text_of(client.request("ping")), HasSubstr("code 3"));  // throws for what is not UTF-8
  }
}

TEST(ProcessCare, requests_of_a_server_that_dies_are_taken_back) {
  Client client;
  client.initialize();
  client.send_call("ask", {{"method", "sampling/createMessage"}});
  const json::object request = client.expect_request("sampling/createMessage");
  client.send_call("crash");
  const json::object cancelled = client.expect_notification("notifications/cancelled");
  EXPECT_EQ(cancelled.at("params").at("requestId"), request.at("id"));
  client.answer(request, json::object{});  // too late, and harmless
  EXPECT_TRUE(client.request("ping").contains("result"));
}

TEST(ProcessCare, what_a_dead_server_left_in_its_group_is_killed) {
  Client client;
  client.initialize();
  const pid_t left = std::stoi(client.call_text("fork", {{"ignore_term", true}}));
  EXPECT_TRUE(process_alive(left));
  EXPECT_THAT(text_of(client.call("crash")), HasSubstr("SIGABRT"));
  EXPECT_TRUE(all_gone({left}));
}

// A request that finds the server dead must not make us forget what it wrote before.
TEST(ProcessCare, an_answer_that_was_written_before_the_server_died_arrives) {
  Client client({.server = {"--die", "1", "--how", "3"}});
  client.initialize();
  std::vector<pid_t> server = children_of(client.child().pid());
  std::erase_if(server, [](pid_t pid) { return command_name(pid) != "fake_server"; });
  ASSERT_EQ(server.size(), 1U);
  // The server gets the call; the answer, the death and the next call come to mcpivot at once.
  kill(server[0], SIGSTOP);
  const auto call = client.send_call("big", {{"bytes", 300'000}});
  ASSERT_TRUE(wait_at_rest({client.child().pid()}, soon()));
  client.child().signal(SIGSTOP);
  kill(server[0], SIGCONT);
  ASSERT_TRUE(all_gone(server));
  const auto late = client.send_call("echo");
  client.child().signal(SIGCONT);
  EXPECT_EQ(text_of(client.await(call)).size(), 300'000U);
  EXPECT_THAT(text_of(client.await(late)), HasSubstr("code 3"));
}

TEST(ProcessCare, a_server_that_dies_in_the_middle_of_an_answer_answers_once) {
  ClientOptions options;
  options.command = {"sh", "-c", R"(read -r line; printf '{"jsonrpc":"2.0","id":1,"result":{"te'; exit 3)"};
  Client client(options);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(client.request("ping").contains("error"));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(ProcessCare, a_server_that_closes_stdout_is_ended_and_its_requests_are_answered) {
  Client client({.server = {"--ignore-eof", "--ignore-term"}});
  client.initialize();
  const pid_t server = std::stoi(client.call_text("pid"));
  const auto call = client.send_call("sleep", {{"ms", 600'000}});
  client.call("close_stdout");
  EXPECT_THAT(text_of(client.await(call)), HasSubstr("SIGKILL"));
  EXPECT_TRUE(all_gone({server}));
}

TEST(ProcessCare, a_server_that_closes_stdin_is_ended_and_its_requests_are_answered) {
  ClientOptions options;
  options.command = {"sh", "-c", "exec <&-; echo closed >&2; exec sleep 600"};
  Client client(options);
  ASSERT_TRUE(client.child().wait_stderr("closed", soon()));
  EXPECT_TRUE(client.request("ping").contains("error"));
  EXPECT_TRUE(client.request("ping").contains("error"));
  EXPECT_TRUE(wait_until([&] { return children_of(client.child().pid()).size() == 1; }, soon()));
}

// Nothing is written to it any more that could fail.
TEST(ProcessCare, a_server_that_closes_stdin_with_requests_unread_is_ended_and_they_are_answered) {
  ClientOptions options;
  options.command = {"sh", "-c", "read -r line; exec <&-; exec sleep 600"};
  Client client(options);
  client.child().send_raw(ping(1) + "\n" + ping(2) + "\n");
  EXPECT_TRUE(client.await(1).contains("error"));
  EXPECT_TRUE(client.await(2).contains("error"));
}

TEST(ProcessCare, a_server_that_cannot_start_is_an_error_for_the_client_that_says_why) {
  const TemporaryDirectory directory;
  const fs::path plain = directory.path() / "plain.txt";
  const fs::path script = directory.path() / "script";
  std::ofstream(plain) << "no program\n";
  std::ofstream(script) << "no program\n";
  fs::permissions(script, fs::perms::owner_all);
  struct Case {
    std::vector<std::string> options;
    std::string command;
    const char* why;
  };
  const std::vector<Case> cases = {
      {{}, directory.path() / "nothing", "No such file"},
      {{}, "a-program-that-nobody-has", "PATH"},
      {{}, plain, "Permission denied"},
      {{}, directory.path(), "Permission denied"},
      {{}, script, "#!"},
      {{"--cwd", directory.path() / "nowhere"}, "true", "nowhere"},
      {{"--cwd", plain}, "true", "plain.txt"},
  };
  for (const auto& [options, command, why] : cases) {
    SCOPED_TRACE(command + " " + testing::PrintToString(options));
    Client client({.options = options, .command = {command}});
    for (int i = 0; i < 2; ++i) {
      const json::object answer = client.request("initialize");
      EXPECT_THAT(std::string(answer.at("result").at("instructions").as_string()), HasSubstr(why));
      EXPECT_THAT(text_of(client.call("anything")), HasSubstr(why));
    }
    EXPECT_TRUE(process_alive(client.child().pid()));
    client.child().close_stdin();
    EXPECT_EQ(client.child().wait_exit(soon()), 0);
  }
}

TEST(ProcessCare, a_server_that_dies_at_once_is_an_error_for_the_client) {
  Client client({.server = {"--die", "start", "--how", "7"}});
  const json::object answer = client.request("initialize");
  EXPECT_THAT(std::string(answer.at("result").at("instructions").as_string()), HasSubstr("code 7"));
}

// ---- What stdin and stdout may be.

class Streams : public testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& content = {}) const {
    const fs::path path = directory_.path() / name;
    std::ofstream(path) << content;
    return path;
  }

  Child start(const Stdio& given) const {
    ClientOptions options;
    options.command = quick_server;
    return Child(mcpivot_command(options), private_folders(directory_.path()), directory_.path(), given);
  }

  TemporaryDirectory directory_;
};

TEST_F(Streams, stdin_may_be_a_file) {
  const int input = open(file("in", ping(1) + "\n" + ping(2) + "\n").c_str(), O_RDONLY | O_CLOEXEC);
  Child child = start({.in = input});
  close(input);
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(2));
  EXPECT_EQ(child.wait_exit(soon()), 0);
}

TEST_F(Streams, stdout_may_be_a_file) {
  const fs::path path = file("out");
  const int output = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  Child child = start({.out = output});
  close(output);
  child.send_line(ping(1));
  EXPECT_TRUE(wait_until([&] { return read_file(path) == ping_answer(1) + "\n"; }, soon()));
  child.close_stdin();
  EXPECT_EQ(child.wait_exit(soon()), 0);
}

TEST_F(Streams, stdin_and_stdout_may_be_one_socket) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const Ends ends(sockets[0], sockets[1]);
  Child child = start({.in = sockets[1], .out = sockets[1]});
  write_all(sockets[0], ping(1) + "\n");
  std::string received;
  std::array<char, 4096> piece{};
  while (!received.ends_with('\n')) {
    const ssize_t got = read(sockets[0], piece.data(), piece.size());
    ASSERT_GT(got, 0);
    received.append(piece.data(), static_cast<std::size_t>(got));
  }
  EXPECT_EQ(received, ping_answer(1) + "\n");
  shutdown(sockets[0], SHUT_WR);
  EXPECT_EQ(child.wait_exit(soon()), 0);
}

TEST_F(Streams, that_are_closed_are_an_end_and_not_a_crash) {
  for (const char* script : {"exec \"$@\" <&-", "exec \"$@\" >&-", "exec \"$@\" <&- >&- 2>&-"}) {
    SCOPED_TRACE(script);
    std::vector<std::string> command = {"sh", "-c", script, "sh"};
    std::ranges::copy(mcpivot_command({.server = {"--ignore-eof"}}), std::back_inserter(command));
    Child child(command, private_folders(directory_.path()), directory_.path());
    child.offer(ping(1) + "\n", soon());
    child.close_stdin();
    EXPECT_EQ(child.wait_exit(soon()), 0);
  }
}

TEST_F(Streams, a_last_line_without_its_newline_counts) {
  Child child = start({});
  child.send_raw(ping(1) + "\n" + ping(2));
  child.close_stdin();
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(2));
}

// Non-blocking mode belongs to the open file, which a shell shares with the programs that it starts.
TEST_F(Streams, are_left_blocking_or_not_as_they_were) {
  for (const int mode : {0, O_NONBLOCK}) {
    for (const bool by_signal : {false, true}) {
      SCOPED_TRACE(testing::Message() << "mode " << mode << ", by signal: " << by_signal);
      Ends in = Ends::of_pipe();
      const Ends out = Ends::of_pipe();
      for (const int fd : {in.read, out.write}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | mode);
      Child child = start({.in = in.read, .out = out.write});
      write_all(in.write, ping(1) + "\n");
      std::string answer(ping_answer(1).size() + 1, '\0');
      ASSERT_EQ(read(out.read, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
      if (by_signal) {
        child.signal(SIGTERM);
      } else {
        Ends::close_one(in.write);
      }
      ASSERT_TRUE(child.wait_exit(soon()));
      EXPECT_EQ(fcntl(in.read, F_GETFL) & O_NONBLOCK, mode);
      EXPECT_EQ(fcntl(out.write, F_GETFL) & O_NONBLOCK, mode);
    }
  }
}

TEST_F(Streams, a_terminal_is_left_blocking) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master), 0);
  ASSERT_EQ(unlockpt(master), 0);
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  const Ends ends(master, terminal);
  Child child = start({.in = terminal, .out = terminal, .err = terminal});
  write_all(master, ping(1) + "\n");
  std::string shown;  // the terminal's echo, and then the answer
  while (shown.find(ping_answer(1)) == std::string::npos) {
    std::array<char, 4096> piece{};
    const ssize_t got = read(master, piece.data(), piece.size());
    ASSERT_GT(got, 0) << shown;
    shown.append(piece.data(), static_cast<std::size_t>(got));
  }
  write_all(master, "\x04");  // the end of input, as a user types it
  EXPECT_EQ(child.wait_exit(soon()), 0);
  EXPECT_EQ(fcntl(terminal, F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace harness
