// A server that dies takes nothing with it: each request is answered once, the client's connection continues,
// and the model is told what happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// ---- Calls in flight.

struct Death {
  json::object arguments;  // of the tool "crash"
  const char* how;
};

TEST(Crash, a_call_in_flight_when_the_server_dies_gets_one_crash_report) {
  const std::vector<Death> deaths = {{{{"signal", "SIGSEGV"}, {"stderr", "panic: out of cheese"}}, "SIGSEGV"},
                                     {{{"signal", "SIGABRT"}, {"stderr", "panic: out of cheese"}}, "SIGABRT"},
                                     {{{"exit_code", 0}, {"stderr", "panic: out of cheese"}}, "code 0"},
                                     {{{"exit_code", 3}, {"stderr", "panic: out of cheese"}}, "code 3"}};
  for (const Death& death : deaths) {
    SCOPED_TRACE(death.how);
    Client client;
    client.initialize();
    const auto sleeping = client.send_call("sleep", {{"ms", for_ever}});
    const auto crashing = client.send_call("crash", death.arguments);
    for (const auto& [id, tool] : {std::pair{sleeping, "sleep"}, std::pair{crashing, "crash"}}) {
      const json::object answer = client.await(id);
      ASSERT_TRUE(answer.contains("result"));
      EXPECT_TRUE(is_error(answer));
      EXPECT_THAT(
          text_of(answer),
          AllOf(StartsWith("[mcpivot] "), HasSubstr("fake_server"), HasSubstr(death.how), HasSubstr(tool),
                HasSubstr("may have taken effect"), HasSubstr("panic: out of cheese")));
    }
    EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
    EXPECT_THAT(client.answers, IsEmpty()) << "something was answered twice";
  }
}

TEST(Crash, a_server_killed_from_outside_is_reported_with_its_signal_and_its_last_lines) {
  Client client;
  client.initialize();
  client.call("stderr", {{"text", "the last thing it said"}});
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  kill(server_pid(client), SIGKILL);
  EXPECT_THAT(
      text_of(client.await(call)),
      AllOf(HasSubstr("SIGKILL"), HasSubstr("the last thing it said"), HasSubstr("generation 1"),
            HasSubstr("may have taken effect"), HasSubstr("nothing to fix"), HasSubstr("pivot_logs")));
  EXPECT_THAT(text_of(client.call("echo")),
              AllOf(HasSubstr("restarted: generation 2"), HasSubstr("(after it was killed from outside)"),
                    HasSubstr("Anything it held in memory is gone."), Not(HasSubstr("SIGKILL"))))
      << "the crash has been told already";
}

TEST(Crash, two_hundred_calls_in_flight_are_each_answered_once) {
  Client client({.server = {"--journal", "journal"}});
  client.initialize();
  const fs::path journal = client.directory() / "journal";
  std::set<std::int64_t> calls;
  for (int i = 0; i < 200; ++i) calls.insert(client.send_call("sleep", {{"ms", for_ever}, {"n", i}}));
  ASSERT_TRUE(wait_until([&] { return lines_of(journal).size() == 200; }, soon()));
  kill(server_pid(client), SIGKILL);
  for (const auto call : calls) EXPECT_THAT(text_of(client.await(call)), HasSubstr("SIGKILL"));
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  EXPECT_THAT(client.answers, IsEmpty()) << "something was answered twice";
  EXPECT_THAT(lines_of(journal), SizeIs(201)) << "something was executed twice";
}

// Killed at no particular moment: some calls were answered, some were read, some were not.
TEST(Crash, two_hundred_calls_in_all_stages_are_each_answered_once_and_none_runs_twice) {
  for (int round = 0; round < 5; ++round) {
    Client client({.server = {"--journal", "journal"}});
    client.initialize();
    const pid_t server = server_pid(client);
    std::string burst;
    for (int i = 0; i < 200; ++i)
      burst += json::serialize(json::object{
                   {"jsonrpc", "2.0"},
                   {"id", 1000 + i},
                   {"method", "tools/call"},
                   {"params", {{"name", "echo"}, {"arguments", {{"text", "n" + std::to_string(i)}}}}}}) +
               "\n";
    client.child().send_raw(burst);
    client.await(1000 + 40 * round);
    kill(server, SIGKILL);
    for (int i = 0; i < 200; ++i) {
      if (i == 40 * round) continue;
      const json::object answer = client.await(1000 + i);
      if (is_error(answer)) continue;
      EXPECT_EQ(own_text(answer), "n" + std::to_string(i));
    }
    EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
    EXPECT_THAT(client.answers, IsEmpty()) << "something was answered twice";
    std::multiset<std::string> executed;
    for (const std::string& line : lines_of(client.directory() / "journal"))
      executed.insert(line.substr(line.find(' ')));
    for (const std::string& line : executed) EXPECT_EQ(executed.count(line), 1U) << line;
  }
}

// ---- What is retried.

TEST(Crash, a_call_of_a_tool_that_declares_itself_safe_is_retried) {
  for (const char* hint : {"echo=readOnlyHint", "echo=idempotentHint"}) {
    SCOPED_TRACE(hint);
    Client client({.server = {"--lives", "lives", "--tap", "tap", "--hint", hint, "--life", "1", "--hold",
                              "tools/call"}});
    client.initialize();
    const auto call = client.send_call("echo", {{"text", "hello"}});
    ASSERT_TRUE(wait_for_text(client.directory() / "tap", "hello"));
    kill(server_pid(client), SIGKILL);
    const json::object answer = client.await(call);
    EXPECT_FALSE(is_error(answer));
    EXPECT_EQ(own_text(answer), "hello");
    EXPECT_THAT(text_of(answer),
                AllOf(HasSubstr("was killed by SIGKILL"), HasSubstr("while running the tool \"echo\"."),
                      HasSubstr("The call is safe to repeat, so mcpivot retried it.")));
    EXPECT_THAT(client.answers, IsEmpty());
  }
}

TEST(Crash, a_call_that_always_kills_the_server_is_retried_only_once) {
  Client client({.server = {"--journal", "journal", "--hint", "crash=readOnlyHint"}});
  client.initialize();
  const json::object answer = client.call("crash");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("(generation 2) was killed by SIGABRT"),
                                     HasSubstr("The call may have taken effect; mcpivot retried it once and "
                                               "will not retry it again.")));
  const json::object next = client.call("echo", {{"text", "again"}});
  EXPECT_EQ(own_text(next), "again");
  EXPECT_THAT(text_of(next),
              AllOf(HasSubstr("(generation 1) was killed by SIGABRT"),
                    HasSubstr("while running the tool \"crash\".\nThe call is safe to repeat, so "
                              "mcpivot retried it.")));
  EXPECT_THAT(lines_of(client.directory() / "journal"), SizeIs(3));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Crash, calls_that_never_reached_the_server_are_retried) {
  Client client({.server = {"--journal", "journal"}});
  client.initialize();
  const pid_t server = server_pid(client);
  const auto reached = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  kill(server, SIGSTOP);
  std::vector<std::int64_t> calls;
  calls.reserve(50);
  for (int i = 0; i < 50; ++i) calls.push_back(client.send_call("echo", {{"text", std::to_string(i)}}));
  ASSERT_TRUE(wait_at_rest({client.child().pid()}, soon()));
  kill(server, SIGKILL);
  EXPECT_THAT(text_of(client.await(reached)), HasSubstr("may have taken effect"));
  for (int i = 0; i < 50; ++i) {
    const json::object answer = client.await(calls[static_cast<std::size_t>(i)]);
    EXPECT_FALSE(is_error(answer));
    EXPECT_EQ(own_text(answer), std::to_string(i));
  }
  EXPECT_THAT(lines_of(client.directory() / "journal"), SizeIs(52));
}

// Found by chaos: the pipe is closed while a call is in it, and then the server continues.
TEST(Crash, a_call_that_a_replaced_server_may_still_read_is_not_retried) {
  Client client({.options = {"--drain", "1ms"}, .server = {"--journal", "journal", "--ignore-term"}});
  client.initialize();
  const pid_t server = server_pid(client);
  const auto link = [](pid_t pid, const std::string& descriptor) {
    std::error_code gone;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + descriptor, gone);
  };
  const auto pipe = link(server, "0");
  const auto has_pipe = [&](pid_t pid) {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
    return std::ranges::any_of(all,
                               [&](const auto& one) { return link(pid, one.path().filename()) == pipe; });
  };
  ASSERT_TRUE(has_pipe(client.child().pid()));
  kill(server, SIGSTOP);
  const auto id = client.send_call("sleep", {{"ms", for_ever}});
  client.call("pivot_restart");
  ASSERT_TRUE(wait_until([&] { return !has_pipe(client.child().pid()); }, soon()));
  kill(server, SIGCONT);
  EXPECT_THAT(text_of(client.await(id)), HasSubstr("may have taken effect; mcpivot did not retry it"));
  ASSERT_TRUE(wait_gone({server}));
  EXPECT_LE(lines_of(client.directory() / "journal").size(), 1U);
}

TEST(Crash, a_request_that_only_reads_is_retried) {
  struct Read {
    const char* method;
    json::object params;
    const char* expected;
  };
  const std::vector<Read> reads = {
      {"prompts/get", {{"name", "greet"}, {"arguments", {{"name", "Ada"}}}}, "greet Ada"},
      {"resources/read", {{"uri", "fake://hello"}}, "the text of fake://hello"},
      {"completion/complete",
       {{"ref", {{"type", "ref/prompt"}, {"name", "greet"}}},
        {"argument", {{"name", "name"}, {"value", "Ada"}}}},
       "Ada1"}};
  for (const Read& read : reads) {
    SCOPED_TRACE(read.method);
    Client client({.server = {"--lives", "lives", "--tap", "tap", "--life", "1", "--hold", read.method}});
    client.initialize();
    const auto id = client.send(read.method, read.params);
    ASSERT_TRUE(wait_for_text(client.directory() / "tap", read.method));
    kill(server_pid(client), SIGKILL);
    EXPECT_THAT(json::serialize(client.await(id)), HasSubstr(read.expected));
  }
}

TEST(Crash, any_other_request_that_may_have_had_an_effect_gets_an_error) {
  for (const char* method : {"logging/setLevel", "resources/subscribe", "vendor/act"}) {
    SCOPED_TRACE(method);
    Client client({.server = {"--lives", "lives", "--tap", "tap", "--life", "1", "--hold", method}});
    client.initialize();
    const auto id = client.send(method, {{"level", "info"}, {"uri", "fake://hello"}});
    ASSERT_TRUE(wait_for_text(client.directory() / "tap", method));
    kill(server_pid(client), SIGKILL);
    const json::object answer = client.await(id);
    ASSERT_TRUE(answer.contains("error"));
    EXPECT_THAT(text_of(answer),
                AllOf(HasSubstr("SIGKILL"), HasSubstr(method), HasSubstr("may have taken effect")));
    EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  }
}

TEST(Crash, a_call_that_was_cancelled_before_the_server_died_is_not_answered) {
  Client client;
  client.initialize();
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  client.notify("notifications/cancelled", {{"requestId", call}});
  kill(server_pid(client), SIGKILL);
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  EXPECT_THAT(client.answers, IsEmpty());
}

// ---- What the model and the client learn.

TEST(Crash, with_nothing_in_flight_is_reported_only_in_the_next_tool_result) {
  Client client;
  client.initialize();
  client.call("stderr", {{"text", "the last thing it said"}});
  const pid_t server = server_pid(client);
  kill(server, SIGKILL);
  ASSERT_TRUE(wait_gone({server}));
  const json::object answer = client.call("echo", {{"text", "again"}});
  EXPECT_THAT(text_of(answer), AllOf(StartsWith("[mcpivot] "), HasSubstr("SIGKILL"),
                                     HasSubstr("the last thing it said"), HasSubstr("generation 2")));
  EXPECT_EQ(own_text(answer), "again");
  EXPECT_EQ(blocks(client.call("echo", {{"text", "and again"}})), 1U);
}

// mcpivot's own requests are not the client's.
TEST(Crash, during_mcpivots_own_request_is_reported_in_the_next_tool_result) {
  Client client({.server = {"--lives", "lives", "--tap", "tap", "--life", "1", "--delay", "tools/list=300"}});
  client.initialize();
  client.call("stderr", {{"text", "the last thing it said"}});
  const pid_t server = server_pid(client);
  const auto asked = [&] {
    return std::ranges::count_if(lines_of(client.directory() / "tap"), [](const std::string& line) {
      return line.find("tools/list") != std::string::npos;
    });
  };
  const auto before = asked();
  client.call("notify", {{"method", "notifications/tools/list_changed"}});
  ASSERT_TRUE(wait_until([&] { return asked() > before; }, soon()));
  kill(server, SIGKILL);
  ASSERT_TRUE(wait_gone({server}));
  const json::object answer = client.call("echo", {{"text", "again"}});
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("SIGKILL"), HasSubstr("the last thing it said")));
}

TEST(Crash, questions_from_the_server_are_cancelled_at_the_client) {
  Client client;
  client.initialize();
  const auto call = client.send_call("ask", {{"method", "sampling/createMessage"}});
  const json::object request = client.expect_request("sampling/createMessage");
  kill(server_pid(client), SIGKILL);
  EXPECT_EQ(client.expect_notification("notifications/cancelled").at("params").at("requestId"),
            request.at("id"));
  EXPECT_THAT(text_of(client.await(call)), HasSubstr("SIGKILL"));
  client.answer(request, {{"answer", "too late"}});
  EXPECT_THAT(own(client, "seen"), Not(HasSubstr("too late")));
}

TEST(Crash, after_a_flood_of_stderr_the_report_shows_its_beginning_and_end) {
  Client client({.server = {"--stderr-flood", "20000"}});
  client.initialize();
  client.call("stderr", {{"text", "panic: the cause"}});
  client.call("stderr", {{"text", "noise"}, {"lines", 100}});
  const std::string report = text_of(client.call("crash", {{"stderr", "the very last line"}}));
  EXPECT_THAT(report, AllOf(HasSubstr("panic: the cause"), HasSubstr("the very last line")));
  EXPECT_LT(report.size(), 20'000U);
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
}

// A grandchild holds the pipes open, so that they never reach their end.
TEST(Crash, of_a_server_that_forked_is_reported_at_once_and_its_grandchild_ended) {
  Client client({.server = {"--fork", "stubborn"}});
  client.initialize();
  const pid_t server = server_pid(client);
  const std::vector<pid_t> grandchildren = children_of(server);
  ASSERT_THAT(grandchildren, SizeIs(1));
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  kill(server, SIGKILL);
  EXPECT_THAT(text_of(client.await(call)), HasSubstr("SIGKILL"));
  EXPECT_TRUE(wait_gone(grandchildren));
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
}

TEST(Crash, the_last_known_lists_are_served_while_the_server_is_down) {
  Client client({.server = {"--lives", "lives", "--life", "2+", "--hold", "initialize"}});
  client.initialize();
  const std::vector<std::string> before = tools_of(client);
  const pid_t server = server_pid(client);
  kill(server, SIGKILL);
  ASSERT_TRUE(wait_status(client, "state", "starting"));
  EXPECT_EQ(tools_of(client), before);
  EXPECT_THAT(names_in(client.request("prompts/list"), "prompts"), Contains("greet"));
  EXPECT_TRUE(client.request("ping").contains("result"));
}

// ---- Servers that don't start.

TEST(Crash, requests_wait_while_a_server_dies_in_its_handshake_until_one_survives) {
  for (const char* when : {"start", "before-initialize", "after-initialize", "initialized", "tools-list"}) {
    SCOPED_TRACE(when);
    Client client({.server = {"--lives", "lives", "--how", "7", "--life", "2", "--die", when, "--life", "3",
                              "--die", when, "--life", "4", "--die", when}});
    client.initialize();
    kill(server_pid(client), SIGKILL);
    ASSERT_TRUE(wait_until([&] { return status_of(client, "state") != "ready"; }, soon()));
    const auto prompt = client.send("prompts/get", {{"name", "greet"}});
    const auto call = client.send_call("state");
    EXPECT_TRUE(client.await(prompt).contains("result"));
    EXPECT_THAT(own_text(client.await(call)), HasSubstr(R"("life":5)"));
    EXPECT_THAT(client.answers, IsEmpty());
  }
}

TEST(Crash, a_server_that_dies_in_its_handshake_ten_times_and_then_works_is_used) {
  std::vector<std::string> server = {"--lives", "lives", "--how", "7"};
  for (int life = 1; life <= 10; ++life)
    server.insert(server.end(), {"--life", std::to_string(life), "--die", "before-initialize"});
  Client client({.options = {"--queue-timeout", "2m"}, .server = server});
  EXPECT_THAT(json::serialize(client.initialize()), HasSubstr("code 7"));
  const auto call = client.send_call("echo", {{"text", "patience"}});
  // Its back-off would grow to half a minute; a requested restart doesn't wait for it.
  bool alive = false;
  for (int i = 0; i < 11; ++i) {
    const json::object answer = client.call("pivot_restart");
    alive = !is_error(answer);
    if (alive) break;
    EXPECT_THAT(text_of(answer), HasSubstr("code 7"));
  }
  ASSERT_TRUE(alive);
  EXPECT_EQ(own_text(client.await(call)), "patience");
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("echo"));
}

TEST(Crash, a_client_is_told_about_a_hanging_handshake_and_served_when_it_completes) {
  Client client(
      {.options = {"--start-timeout", "500ms"},
       .server = {"--lives", "lives", "--stderr-flood", "3", "--life", "1", "--hold", "initialize"}});
  const json::object hello = client.initialize();
  ASSERT_TRUE(hello.contains("result"));
  const json::object& result = hello.at("result").as_object();
  EXPECT_THAT(std::string(result.at("instructions").as_string()),
              AllOf(HasSubstr("fake_server"), HasSubstr("handshake")));
  EXPECT_EQ(result.at("protocolVersion"), "2025-06-18");
  EXPECT_THAT(tools_of(client), Contains("pivot_status"));
  EXPECT_FALSE(is_error(client.call("pivot_logs")));
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), AllOf(Contains("echo"), Contains("pivot_logs")));
  EXPECT_THAT(names_in(client.request("prompts/list"), "prompts"), Contains("greet"));
  const json::object answer = client.call("echo", {{"text", "hello"}});
  EXPECT_THAT(text_of(answer), AllOf(StartsWith("[mcpivot] "), HasSubstr("echo")));
  EXPECT_EQ(own_text(answer), "hello");
}

// The client waits ten seconds, the server's limit is longer: the first generation itself is late.
TEST(Crash, a_server_that_becomes_ready_after_the_client_was_told_otherwise_is_announced) {
  Client client({.server = {"--delay", "initialize=10500"}});
  const auto id = client.send("initialize", {{"protocolVersion", "2025-06-18"},
                                             {"capabilities", json::object{}},
                                             {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  const json::object hello = client.await(id, in(seconds(15)));
  client.notify("notifications/initialized");
  EXPECT_THAT(json::serialize(hello), AllOf(HasSubstr("instructions"), HasSubstr("handshake")));
  EXPECT_THAT(tools_of(client), Not(Contains("echo")));
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("echo"));
  EXPECT_THAT(text_of(client.call("echo", {{"text", "hello"}})), StartsWith("[mcpivot] "));
}

TEST(Crash, a_client_is_told_about_a_missing_command_and_served_once_it_exists) {
  const TemporaryDirectory place;
  const fs::path command = place.path() / "server";
  Client client({.command = {command}});
  const json::object hello = client.initialize();
  EXPECT_THAT(std::string(hello.at("result").at("instructions").as_string()),
              AllOf(HasSubstr("server"), HasSubstr("No such file")));
  EXPECT_THAT(tools_of(client), Contains("pivot_restart"));
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("No such file"));
  fs::create_symlink(fake_server_binary(), command);
  const json::object answer = client.call("pivot_restart");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("echo"));
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("echo"));
  EXPECT_EQ(own(client, "echo", {{"text", "hello"}}), "hello");
}

TEST(Crash, a_request_that_waits_too_long_is_answered_with_the_servers_state) {
  Client client({.options = {"--queue-timeout", "300ms"},
                 .server = {"--lives", "lives", "--life", "2+", "--hold", "initialize"}});
  client.initialize();
  kill(server_pid(client), SIGKILL);
  ASSERT_TRUE(wait_status(client, "state", "starting"));
  const json::object call = client.call("echo");
  EXPECT_TRUE(call.contains("result") && is_error(call));
  EXPECT_THAT(text_of(call), AllOf(HasSubstr("fake_server"), HasSubstr("start")));
  EXPECT_THAT(text_of(client.request("prompts/get", {{"name", "greet"}})), HasSubstr("fake_server"));
  const auto cancelled = client.send_call("echo");
  client.notify("notifications/cancelled", {{"requestId", cancelled}});
  EXPECT_TRUE(is_error(client.call("echo")));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Crash, at_most_a_thousand_requests_wait_and_others_are_rejected) {
  Client client({.options = {"--queue-timeout", "1m"},
                 .server = {"--lives", "lives", "--life", "2", "--delay", "initialize=2000"}});
  client.initialize();
  const pid_t server = server_pid(client);
  kill(server, SIGKILL);
  ASSERT_TRUE(wait_status(client, "generation", ""));
  std::vector<std::int64_t> calls;
  calls.reserve(1100);
  for (int i = 0; i < 1100; ++i) calls.push_back(client.send_call("echo", {{"text", std::to_string(i)}}));
  int refused = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const json::object answer = client.await(calls[i]);
    if (is_error(answer)) {
      EXPECT_THAT(text_of(answer), HasSubstr("1024"));
      ++refused;
    } else {
      EXPECT_EQ(own_text(answer), std::to_string(i));
    }
  }
  EXPECT_EQ(refused, 76);
}

// ---- Calls that are never answered.

TEST(Crash, a_call_that_times_out_is_cancelled_at_the_server_and_answered) {
  Client client({.options = {"--call-timeout", "300ms"}});
  client.initialize();
  const json::object answer = client.call("sleep", {{"ms", for_ever}});
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("sleep"), HasSubstr("call-timeout")));
  EXPECT_THAT(own(client, "state"), Not(HasSubstr(R"("cancelled":[])")));
  EXPECT_EQ(status_of(client, "generation"), "1");
}

TEST(Crash, progress_gives_a_call_more_time) {
  Client client({.options = {"--call-timeout", "400ms"}});
  client.initialize();
  const auto id = client.send(
      "tools/call",
      {{"name", "sleep"}, {"arguments", {{"ms", 1200}, {"steps", 12}}}, {"_meta", {{"progressToken", "p"}}}});
  EXPECT_EQ(own_text(client.await(id)), "slept 1200 ms");
}

// ---- The pause before the next start.

// A client of a program that doesn't exist yet, and failed to start so often that the next pause is 30 s.
std::string fail_often(Client& client) {
  client.initialize();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(is_error(client.call("echo")));
  return client.directory() / "late";
}

TEST(Crash, of_a_server_that_has_answered_resets_the_count_of_failures) {
  Client client({.options = {"--no-watch"}, .command = {"./late"}});
  std::filesystem::copy_file(fake_server_binary(), fail_often(client));
  EXPECT_EQ(own(client, "echo", {{"text", "up"}}), "up");
  EXPECT_TRUE(is_error(client.call("crash")));
  EXPECT_EQ(own(client, "echo", {{"text", "up again"}}), "up again");
}

TEST(Crash, of_a_rebuilt_server_does_not_count_earlier_failures) {
  Client client(
      {.options = {"--no-watch", "--build", "cp " + fake_server_binary() + " late"}, .command = {"./late"}});
  fail_often(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  EXPECT_TRUE(is_error(client.call("crash")));  // before it has answered anything
  EXPECT_EQ(own(client, "echo", {{"text", "up again"}}), "up again");
}

}  // namespace
}  // namespace harness
