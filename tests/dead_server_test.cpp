// mcpivot continues when its server dies or never runs: every request is answered and says how it died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "lives.h"
#include "streams.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct Death {
  json::object arguments;  // of the tool "crash"
  const char* how;
};

TEST(ProcessCare, requests_in_flight_when_the_server_dies_are_answered_with_its_exit_status) {
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

TEST(ProcessCare, the_last_stderr_lines_of_a_server_are_in_the_error) {
  Client client;
  client.initialize();
  EXPECT_THAT(text_of(client.call("crash", {{"stderr", "panic: out of cheese"}})),
              AllOf(HasSubstr("SIGABRT"), HasSubstr("panic: out of cheese")));
}

TEST(ProcessCare, stderr_lines_that_are_not_utf8_do_not_break_the_response) {
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

TEST(ProcessCare, requests_from_a_server_that_dies_are_cancelled) {
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

TEST(ProcessCare, processes_left_in_a_dead_servers_group_are_killed) {
  Client client;
  client.initialize();
  const pid_t left = std::stoi(client.call_text("fork", {{"ignore_term", true}}));
  EXPECT_TRUE(process_alive(left));
  EXPECT_THAT(text_of(client.call("crash")), HasSubstr("SIGABRT"));
  EXPECT_TRUE(wait_gone({left}));
}

// A request that finds the server dead must not make mcpivot forget what it wrote before.
TEST(ProcessCare, a_response_written_before_the_server_died_arrives) {
  Client client({.server = {"--die", "1", "--how", "3"}});
  client.initialize();
  std::vector<pid_t> server = children_of(client.child().pid());
  std::erase_if(server, [](pid_t pid) { return command_name(pid) != "fake_server"; });
  ASSERT_EQ(server.size(), 1U);
  // The server gets the call; the answer, the death and the next call reach mcpivot at the same time.
  kill(server[0], SIGSTOP);
  const auto call = client.send_call("big", {{"bytes", 300'000}});
  ASSERT_TRUE(wait_at_rest({client.child().pid()}, soon()));
  client.child().signal(SIGSTOP);
  kill(server[0], SIGCONT);
  ASSERT_TRUE(wait_gone(server));
  const auto late = client.send_call("echo");
  client.child().signal(SIGCONT);
  EXPECT_EQ(text_of(client.await(call)).size(), 300'000U);
  EXPECT_THAT(text_of(client.await(late)), HasSubstr("code 3"));
}

TEST(ProcessCare, a_call_whose_server_dies_mid_response_is_answered_once) {
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
  EXPECT_TRUE(wait_gone({server}));
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

// Nothing more is written to it, so nothing can fail.
TEST(ProcessCare, a_server_that_closes_stdin_with_unread_requests_is_ended_and_they_are_answered) {
  ClientOptions options;
  options.command = {"sh", "-c", "read -r line; exec <&-; exec sleep 600"};
  Client client(options);
  client.child().send_raw(ping(1) + "\n" + ping(2) + "\n");
  EXPECT_TRUE(client.await(1).contains("error"));
  EXPECT_TRUE(client.await(2).contains("error"));
}

TEST(ProcessCare, a_server_that_cannot_start_is_an_error_that_says_why) {
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

TEST(ProcessCare, a_server_that_dies_at_once_is_an_error) {
  Client client({.server = {"--die", "start", "--how", "7"}});
  const json::object answer = client.request("initialize");
  EXPECT_THAT(std::string(answer.at("result").at("instructions").as_string()), HasSubstr("code 7"));
}

}  // namespace
}  // namespace harness
