// A new generation takes over only when it works, and the client goes on as if it had always been there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr int for_ever = 600'000;

using Strings = std::vector<std::string>;

// A client of a server whose later lives differ as told.
ClientOptions changing(Strings options, Strings later = {}) {
  Strings server = {"--lives", "lives"};
  if (!later.empty()) server.insert(server.end(), {"--life", "2+"});
  server.insert(server.end(), later.begin(), later.end());
  return {.options = std::move(options), .server = std::move(server), .own_program = true};
}

json::object state_of(Client& client) {
  return json::parse(own(client, "state")).as_object();
}

bool is_running(Client& client, pid_t pid) {
  return process_alive(pid) && server_pid(client) == pid;
}

std::int64_t send_with_token(Client& client, const char* tool, const json::value& token) {
  return client.send("tools/call",
                     {{"name", tool}, {"arguments", json::object{}}, {"_meta", {{"progressToken", token}}}});
}

// ---- Replay.

TEST(Replay, a_new_generation_is_told_what_the_client_told_the_old_one) {
  Client client({.server = {"--lives", "lives"}});
  client.initialize("2025-03-26");
  client.request("logging/setLevel", {{"level", "error"}});
  client.request("resources/subscribe", {{"uri", "fake://hello"}});
  client.request("resources/subscribe", {{"uri", "fake://item/1"}});
  client.request("resources/unsubscribe", {{"uri", "fake://hello"}});
  const json::object before = state_of(client);
  for (int life = 2; life <= 3; ++life) {
    EXPECT_FALSE(is_error(client.call("pivot_restart")));
    json::object after = state_of(client);
    EXPECT_EQ(after["life"], life);
    after["life"] = 1;
    EXPECT_EQ(after, before);
    EXPECT_EQ(after["initialized"], 1);
    EXPECT_EQ(after["logLevel"], "error");
    EXPECT_EQ(after["subscriptions"], (json::array{"fake://item/1"}));
  }
  EXPECT_THAT(client.answers, IsEmpty()) << "an answer to a question of ours leaked";
}

TEST(Replay, survives_a_crash_too) {
  Client client({.server = {"--lives", "lives"}});
  client.initialize();
  client.request("logging/setLevel", {{"level", "alert"}});
  client.request("resources/subscribe", {{"uri", "fake://hello"}});
  client.call("crash");
  const json::object state = state_of(client);
  EXPECT_EQ(state.at("life"), 2);
  EXPECT_EQ(state.at("logLevel"), "alert");
  EXPECT_EQ(state.at("subscriptions"), (json::array{"fake://hello"}));
  EXPECT_EQ(state.at("client").at("clientInfo").at("name"), "test");
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Replay, the_last_successful_call_of_a_named_tool_is_made_again_after_each_start) {
  Client client({.options = {"--replay", "connect", "--replay", "device:action=connect", "--replay", "fail"},
                 .server = {"--lives", "lives", "--journal", "journal", "--tool", "connect", "--tool",
                            "device", "--tool", "other"}});
  client.initialize();
  client.call("device", {{"action", "connect"}, {"id", 1}});
  client.call("connect", {{"to", "a"}});
  client.call("connect", {{"to", "b"}});
  client.call("device", {{"action", "info"}});
  client.call("other", {{"x", 1}});
  client.call("fail");
  EXPECT_FALSE(is_error(client.call("pivot_restart")));
  client.call("crash");
  settle(client);
  Strings replayed;
  for (const std::string& line : lines_of(client.directory() / "journal"))
    if (line.starts_with("2 ") || line.starts_with("3 ")) replayed.push_back(line);
  EXPECT_THAT(replayed,
              ElementsAre(R"(2 device {"action":"connect","id":1})", R"(2 connect {"to":"b"})", "2 crash {}",
                          R"(3 device {"action":"connect","id":1})", R"(3 connect {"to":"b"})", "3 echo {}"));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Replay, that_fails_is_told_and_blocks_nothing) {
  // The tool is gone in the second life.
  Client client({.options = {"--replay", "connect"},
                 .server = {"--lives", "lives", "--life", "1", "--tool", "connect"}});
  client.initialize();
  client.call("connect");
  const json::object answer = client.call("pivot_restart");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("connect"), HasSubstr("Unknown tool")));
  EXPECT_EQ(own(client, "echo", {{"text", "works"}}), "works");
}

// ---- Rebuild: what works.

TEST(Rebuild, swaps_in_the_new_server_and_says_what_changed) {
  Client client({.options = {"--build", "echo built >> builds"},
                 .server = {"--lives", "lives", "--life", "1", "--tool", "old_tool", "--life", "2+", "--tool",
                            "new_tool", "--describe", "echo=Says it again.", "--prompt", "review",
                            "--resource", "fake://new"}});
  client.initialize();
  const pid_t old = server_pid(client);
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(StartsWith("[mcpivot] "), HasSubstr("fake_server"),
                                     HasSubstr("generation 2"), HasSubstr("+new_tool"), HasSubstr("~echo"),
                                     HasSubstr("-old_tool"), HasSubstr("+review"), HasSubstr("+fake://new")));
  for (const char* list : {"tools", "prompts", "resources"})
    client.expect_notification("notifications/" + std::string(list) + "/list_changed");
  EXPECT_THAT(tools_of(client), AllOf(Contains("new_tool"), Not(Contains("old_tool"))));
  EXPECT_THAT(names_in(client.request("resources/list"), "resources", "uri"), Contains("fake://new"));
  EXPECT_THAT(own(client, "new_tool"), StartsWith("new_tool in life 2"));
  EXPECT_TRUE(wait_gone({old}));
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(1));
}

TEST(Rebuild, that_changes_no_list_announces_none) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("unchanged"));
  EXPECT_EQ(blocks(client.call("echo")), 1U) << "it was told already";
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(Rebuild, a_call_in_flight_finishes_on_the_old_server) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const OpenCall call = open_call(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_TRUE(process_alive(old));
  client.answer(call.question, {{"said", "in time"}});
  EXPECT_THAT(own_text(client.await(call.id)), HasSubstr("in time"));
  EXPECT_TRUE(wait_gone({old}));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, a_call_in_flight_can_be_cancelled_on_the_old_server) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  client.notify("notifications/cancelled", {{"requestId", call}});
  EXPECT_TRUE(wait_gone({old}));
  settle(client);
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, a_call_that_outlasts_the_drain_is_answered_as_after_a_crash) {
  Client client(changing({"--build", "true", "--drain", "200ms"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  const json::object answer = client.await(call);
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("sleep"), HasSubstr("may have taken effect")));
  EXPECT_TRUE(wait_gone({old}));
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, a_safe_call_that_outlasts_the_drain_is_made_again_on_the_new_server) {
  Client client({.options = {"--build", "true", "--drain", "200ms"},
                 .server = {"--lives", "lives", "--tap", "tap", "--hint", "echo=readOnlyHint", "--life", "1",
                            "--hold", "tools/call"}});
  client.initialize();
  const auto call = client.send_call("echo", {{"text", "hello"}});
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "hello"));
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  const json::object answer = client.await(call);
  EXPECT_FALSE(is_error(answer));
  EXPECT_EQ(own_text(answer), "hello");
}

TEST(Rebuild, an_old_server_that_dies_while_it_drains_answers_its_calls_and_disturbs_nothing) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  kill(old, SIGKILL);
  EXPECT_THAT(text_of(client.await(call)), AllOf(HasSubstr("SIGKILL"), HasSubstr("generation 1")));
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_EQ(status_of(client, "starts"), "2");
}

TEST(Rebuild, calls_are_served_without_a_gap_while_it_goes_on) {
  Client client(changing({"--build", "cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(own(client, "echo", {{"text", std::to_string(i)}}), std::to_string(i));
  gate.open();
  int served = 0;
  while (client.answers.empty() || served == 0) {
    ASSERT_EQ(own(client, "echo", {{"text", "still"}}), "still");
    ++served;
    if (std::ranges::any_of(client.answers, [&](const json::object& a) { return a.at("id") == rebuild; }))
      break;
  }
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_EQ(state_of(client).at("life"), 2);
}

// ---- Rebuild: what does not.

TEST(Rebuild, a_build_that_fails_shows_its_output_and_the_old_server_still_serves) {
  Client client(changing({"--build", "echo main.cpp:3: error: no cheese; echo and more >&2; exit 2"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("main.cpp:3: error: no cheese"), HasSubstr("and more"),
                                     HasSubstr("code 2"), HasSubstr("Generation 1 still serves")));
  EXPECT_TRUE(is_running(client, old));
  EXPECT_EQ(state_of(client).at("life"), 1);
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(Rebuild, of_a_long_output_the_beginning_and_the_end_are_shown) {
  Client client(changing({"--build", "echo the first error; seq 1 100000; echo the last error; exit 1"}));
  client.initialize();
  const std::string text = text_of(client.call("pivot_rebuild"));
  EXPECT_THAT(text, AllOf(HasSubstr("the first error"), HasSubstr("the last error"), HasSubstr("left out")));
  EXPECT_LT(text.size(), 20'000U);
}

TEST(Rebuild, a_new_server_that_does_not_work_never_takes_over) {
  struct Broken {
    Strings how;
    const char* why;
  };
  const std::vector<Broken> all = {{{"--die", "start", "--how", "7"}, "code 7"},
                                   {{"--die", "before-initialize", "--how", "SIGSEGV"}, "SIGSEGV"},
                                   {{"--die", "tools-list", "--how", "7"}, "code 7"},
                                   {{"--refuse", "initialize=no cheese"}, "no cheese"},
                                   {{"--hold", "initialize"}, "within"},
                                   {{"--hold", "tools/list"}, "within"},
                                   {{"--hold", "initialize", "--ignore-eof", "--ignore-term"}, "within"}};
  for (const Broken& broken : all) {
    SCOPED_TRACE(testing::PrintToString(broken.how));
    Client client(changing({"--build", "true", "--start-timeout", "300ms"}, broken.how));
    client.initialize();
    const pid_t old = server_pid(client);
    const json::object answer = client.call("pivot_rebuild");
    EXPECT_TRUE(is_error(answer));
    EXPECT_THAT(text_of(answer), AllOf(HasSubstr(broken.why), HasSubstr("Generation 1 still serves")));
    EXPECT_TRUE(is_running(client, old));
    EXPECT_EQ(state_of(client).at("life"), 1);
    // The failed one and nothing else has ended: one guard, one server.
    EXPECT_TRUE(wait_until([&] { return children_of(client.child().pid()).size() == 2; }, soon()));
    EXPECT_THAT(client.notifications, IsEmpty());
  }
}

TEST(Rebuild, the_stderr_of_a_new_server_that_dies_is_shown) {
  Client client(changing({"--build", "true"}, {"--stderr-flood", "3", "--die", "before-initialize"}));
  client.initialize();
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("stderr, last lines"));
}

TEST(Rebuild, with_no_build_configured_there_is_no_such_tool) {
  Client client;
  client.initialize();
  EXPECT_THAT(tools_of(client), AllOf(Not(Contains("pivot_rebuild")), Contains("pivot_restart")));
}

// ---- Rebuild: progress, cancellation, company.

TEST(Rebuild, streams_the_output_of_the_build_as_progress) {
  Client client(changing({"--build", "echo step one; cat gate; echo step two"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto id = send_with_token(client, "pivot_rebuild", "my token");
  const json::object first = client.expect_notification("notifications/progress");
  EXPECT_EQ(first.at("params").at("progressToken"), "my token");
  EXPECT_THAT(std::string(first.at("params").at("message").as_string()), HasSubstr("step one"));
  ASSERT_TRUE(gate.wait_for_visitor());
  gate.open();
  EXPECT_FALSE(is_error(client.await(id)));
  double last = first.at("params").at("progress").to_number<double>();
  for (const json::object& more : client.notifications) {
    if (more.at("method") != "notifications/progress") continue;
    const double now = more.at("params").at("progress").to_number<double>();
    EXPECT_GT(now, last);
    last = now;
  }
  client.notifications.clear();
  settle(client);
  EXPECT_THAT(client.notifications, IsEmpty()) << "progress after the answer";
}

TEST(Rebuild, says_nothing_in_between_to_a_client_that_gave_no_token) {
  Client client(changing({"--build", "echo one; echo two"}));
  client.initialize();
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(Rebuild, that_is_cancelled_stops_the_build_and_is_not_answered) {
  Client client(changing({"--build", "echo $$ > builder; cat gate & echo $! > child; wait"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const pid_t old = server_pid(client);
  const auto id = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  ASSERT_TRUE(wait_for_text(client.directory() / "child", "\n"));
  const pid_t builder = std::stoi(content_of(client.directory() / "builder"));
  const pid_t child = std::stoi(content_of(client.directory() / "child"));
  client.notify("notifications/cancelled", {{"requestId", id}});
  EXPECT_TRUE(wait_gone({builder, child}));
  EXPECT_TRUE(is_running(client, old));
  EXPECT_EQ(state_of(client).at("life"), 1);
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, two_at_once_build_once_and_both_are_answered) {
  Client client(changing({"--build", "echo built >> builds; cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto first = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto second = client.send_call("pivot_rebuild");
  settle(client);
  gate.open();
  for (const auto id : {first, second}) {
    const json::object answer = client.await(id);
    EXPECT_FALSE(is_error(answer));
    EXPECT_THAT(text_of(answer), HasSubstr("generation 2"));
  }
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(1));
  EXPECT_EQ(state_of(client).at("life"), 2);
}

TEST(Rebuild, of_two_at_once_one_can_be_cancelled_and_the_other_goes_on) {
  Client client(changing({"--build", "cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto first = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto second = client.send_call("pivot_rebuild");
  client.notify("notifications/cancelled", {{"requestId", first}});
  settle(client);
  gate.open();
  EXPECT_FALSE(is_error(client.await(second)));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, two_at_once_that_are_both_cancelled_stop_the_build) {
  Client client(changing({"--build", "echo $$ > builder; cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto first = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto second = client.send_call("pivot_rebuild");
  const pid_t builder = std::stoi(content_of(client.directory() / "builder"));
  client.notify("notifications/cancelled", {{"requestId", first}});
  client.notify("notifications/cancelled", {{"requestId", second}});
  EXPECT_TRUE(wait_gone({builder}));
  settle(client);
  EXPECT_THAT(client.answers, IsEmpty());
}

// A restart does not build, so it is not what was asked for.
TEST(Rebuild, that_comes_during_a_restart_still_builds) {
  Client client(changing({"--build", "echo built >> builds"}, {"--tap", "tap", "--delay", "initialize=300"}));
  client.initialize();
  const auto restart = client.send_call("pivot_restart");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  const auto rebuild = client.send_call("pivot_rebuild");
  EXPECT_FALSE(is_error(client.await(restart)));
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(1));
}

TEST(Rebuild, that_is_cancelled_when_it_can_no_longer_be_stopped_is_told_in_the_next_answer) {
  Client client(
      changing({"--build", "true"}, {"--tap", "tap", "--delay", "initialize=300", "--tool", "new_tool"}));
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  client.notify("notifications/cancelled", {{"requestId", rebuild}});
  // Whether it still takes over is ours to decide; that the model learns of it is not.
  ASSERT_TRUE(wait_until(
      [&] { return status_of(client, "generation") == "2" || children_of(client.child().pid()).size() == 2; },
      soon()));
  const bool swapped = status_of(client, "generation") == "2";
  const json::object answer = client.call("echo");
  EXPECT_EQ(text_of(answer).starts_with("[mcpivot] "), swapped) << text_of(answer);
  EXPECT_THAT(client.answers, IsEmpty());
}

// ---- Crashes at a bad time.

TEST(Rebuild, when_the_server_crashes_during_the_build_it_is_started_again_meanwhile) {
  Client client(changing({"--build", "cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  EXPECT_THAT(text_of(client.call("crash")), HasSubstr("SIGABRT"));
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  gate.open();
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_EQ(own(client, "echo", {{"text", "and again"}}), "and again");
  EXPECT_EQ(status_of(client, "draining"), "0");
}

TEST(Rebuild, when_the_server_crashes_during_a_build_that_fails_it_serves_again) {
  Client client(changing({"--build", "cat gate; exit 1"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  client.call("crash");
  gate.open();
  EXPECT_TRUE(is_error(client.await(rebuild)));
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
}

TEST(Rebuild, when_the_old_server_crashes_during_the_swap_the_new_one_takes_over) {
  Client client(changing({"--build", "true"}, {"--tap", "tap", "--delay", "initialize=300"}));
  client.initialize();
  const auto in_flight = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  kill(server_pid(client), SIGKILL);
  EXPECT_THAT(text_of(client.await(in_flight)), HasSubstr("SIGKILL"));
  EXPECT_EQ(state_of(client).at("life"), 2) << "a call waits for the one that is being born";
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_EQ(status_of(client, "starts"), "2");
}

TEST(Rebuild, when_both_die_during_the_swap_another_is_started) {
  Client client({.options = {"--build", "true"},
                 .server = {"--lives", "lives", "--life", "2", "--tap", "tap", "--hold", "initialize"}});
  client.initialize();
  const pid_t old = server_pid(client);
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  std::vector<pid_t> servers = children_of(client.child().pid());
  std::erase_if(servers, [](pid_t pid) { return command_name(pid) != "fake_server"; });
  ASSERT_THAT(servers, AllOf(SizeIs(2), Contains(old)));
  for (const pid_t server : servers) kill(server, SIGKILL);
  EXPECT_TRUE(is_error(client.await(rebuild)));
  EXPECT_EQ(state_of(client).at("life"), 3);
}

TEST(Rebuild, while_a_server_cannot_start_brings_it_to_life) {
  Client client({.options = {"--build", "touch fixed"},
                 .command = {"sh", "-c", "test -e fixed && exec \"$0\"; echo not fixed >&2; exit 9",
                             fake_server_binary()}});
  EXPECT_THAT(json::serialize(client.initialize()), HasSubstr("code 9"));
  EXPECT_THAT(tools_of(client), Contains("pivot_rebuild"));
  EXPECT_THAT(text_of(client.call("pivot_logs")), HasSubstr("not fixed"));
  const auto waiting = client.send_call("echo", {{"text", "hello"}});
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer)) << text_of(answer);
  EXPECT_EQ(own_text(client.await(waiting)), "hello");
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("echo"));
}

TEST(Rebuild, a_crash_report_has_no_lines_of_the_other_generation) {
  Client client({.options = {"--build", "true"},
                 .command = {"sh", "-c",
                             "test -e second && { echo words of the new one >&2; cat gate; }; touch second; "
                             "exec \"$0\"",
                             fake_server_binary()}});
  Gate gate(client.directory() / "gate");
  client.initialize();
  client.call("stderr", {{"text", "words of the old one"}});
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  EXPECT_THAT(text_of(client.call("crash")),
              AllOf(HasSubstr("words of the old one"), Not(HasSubstr("words of the new one"))));
  gate.open();
  EXPECT_FALSE(is_error(client.await(rebuild)));
}

// ---- Servers that cannot run twice.

TEST(StopFirst, the_old_server_is_gone_before_the_build_begins) {
  Client client(changing({"--swap", "stop-first", "--build", "cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const pid_t old = server_pid(client);
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  EXPECT_FALSE(process_alive(old));
  const auto waiting = client.send_call("state");
  EXPECT_TRUE(client.request("ping").contains("result"));
  EXPECT_THAT(tools_of(client), Contains("echo"));
  gate.open();
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_THAT(own_text(client.await(waiting)), HasSubstr(R"("life":2)"));
}

TEST(StopFirst, after_a_failed_build_the_last_good_server_is_started_again) {
  Client client(changing({"--swap", "stop-first", "--build", "echo no cheese; exit 1"}));
  client.initialize();
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("no cheese"), HasSubstr("started again")));
  EXPECT_EQ(state_of(client).at("life"), 2);
}

TEST(StopFirst, two_servers_never_run_at_once) {
  // A lock that a second server would fail to get.
  Client client({.options = {"--swap", "stop-first", "--build", "true"},
                 .command = {"flock", "-n", "-E", "99", "lock", fake_server_binary(), "--lives", "lives",
                             "--ignore-eof"}});
  client.initialize();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
    EXPECT_FALSE(is_error(client.call("pivot_restart")));
  }
  client.call("crash");
  EXPECT_EQ(state_of(client).at("life"), 8);
}

TEST(StopFirst, a_call_that_comes_while_the_old_server_ends_waits_for_the_new_one) {
  Client client({.options = {"--swap", "stop-first", "--build", "true"},
                 .server = {"--lives", "lives", "--ignore-eof"}});
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  const auto call = client.send_call("state");
  EXPECT_THAT(own_text(client.await(call)), HasSubstr(R"("life":2)"));
  EXPECT_FALSE(is_error(client.await(rebuild)));
}

// ---- Restart and stop.

TEST(Restart, makes_a_new_generation_without_a_build) {
  Client client(changing({"--build", "echo built >> builds"}, {"--tool", "new_tool"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const json::object answer = client.call("pivot_restart");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("generation 2"), HasSubstr("+new_tool")));
  EXPECT_TRUE(wait_gone({old}));
  EXPECT_FALSE(fs::exists(client.directory() / "builds"));
  client.expect_notification("notifications/tools/list_changed");
}

TEST(Restart, after_a_crash_long_ago_does_not_speak_of_it_again) {
  Client client;
  client.initialize();
  client.call("crash");
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("SIGABRT"));
  EXPECT_THAT(text_of(client.call("pivot_restart")), Not(HasSubstr("SIGABRT")));
}

TEST(Restart, with_stop_the_server_is_gone_until_a_request_needs_it) {
  Client client(changing({}));
  client.initialize();
  const pid_t old = server_pid(client);
  const std::vector<std::string> tools = tools_of(client);
  EXPECT_FALSE(is_error(client.call("pivot_restart", {{"stop", true}})));
  EXPECT_FALSE(process_alive(old));
  EXPECT_EQ(tools_of(client), tools);
  client.request("ping");
  for (const char* list : {"prompts/list", "resources/list", "resources/templates/list"})
    client.request(list);
  client.call("pivot_logs");
  EXPECT_EQ(status_of(client, "state"), "stopped");
  EXPECT_EQ(status_of(client, "starts"), "1");
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_EQ(status_of(client, "crashes"), "0");
}

TEST(Restart, with_stop_a_call_in_flight_is_answered) {
  Client client({.own_program = true});
  client.initialize();
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_restart", {{"stop", true}})));
  EXPECT_TRUE(is_error(client.await(call)));
}

TEST(Restart, with_stop_twice_both_are_answered) {
  Client client({.server = {"--ignore-eof", "--ignore-term"}, .own_program = true});
  client.initialize();
  const auto first = client.send_call("pivot_restart", {{"stop", true}});
  const auto second = client.send_call("pivot_restart", {{"stop", true}});
  EXPECT_FALSE(is_error(client.await(first)));
  EXPECT_FALSE(is_error(client.await(second)));
  EXPECT_EQ(status_of(client, "state"), "stopped");
}

TEST(Restart, with_stop_and_then_without_both_are_answered) {
  for (const char* swap : {"overlap", "stop-first"}) {
    SCOPED_TRACE(swap);
    Client client({.options = {"--swap", swap}, .server = {"--ignore-eof"}, .own_program = true});
    client.initialize();
    const auto stop = client.send_call("pivot_restart", {{"stop", true}});
    const auto start = client.send_call("pivot_restart");
    EXPECT_FALSE(is_error(client.await(stop)));
    EXPECT_FALSE(is_error(client.await(start)));
    EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
  }
}

TEST(Restart, with_stop_also_stops_a_server_that_is_being_started) {
  Client client({.server = {"--lives", "lives", "--life", "2", "--tap", "tap", "--delay", "initialize=300"},
                 .own_program = true});
  client.initialize();
  kill(server_pid(client), SIGKILL);
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  EXPECT_FALSE(is_error(client.call("pivot_restart", {{"stop", true}})));
  // One guard and no server.
  EXPECT_TRUE(wait_until([&] { return children_of(client.child().pid()).size() == 1; }, soon()));
  EXPECT_EQ(status_of(client, "state"), "stopped");
  EXPECT_EQ(state_of(client).at("life"), 3);
}

TEST(Restart, with_stop_during_a_restart_leaves_no_server) {
  Client client(changing({}, {"--tap", "tap", "--delay", "initialize=300"}));
  client.initialize();
  const auto restart = client.send_call("pivot_restart");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  EXPECT_FALSE(is_error(client.call("pivot_restart", {{"stop", true}})));
  client.await(restart);
  EXPECT_TRUE(wait_until([&] { return children_of(client.child().pid()).size() == 1; }, soon()));
  EXPECT_EQ(status_of(client, "state"), "stopped");
}

TEST(Restart, with_stop_a_call_that_comes_while_the_server_ends_starts_it_again) {
  Client client({.server = {"--lives", "lives", "--ignore-eof"}, .own_program = true});
  client.initialize();
  const auto stop = client.send_call("pivot_restart", {{"stop", true}});
  const auto call = client.send_call("state");
  EXPECT_THAT(own_text(client.await(call)), HasSubstr(R"("life":2)"));
  EXPECT_FALSE(is_error(client.await(stop)));
}

TEST(Restart, a_hangup_signal_rebuilds_and_tells_in_the_next_answer) {
  Client client(changing({"--build", "echo built >> builds"}, {"--tool", "new_tool"}));
  client.initialize();
  client.child().signal(SIGHUP);
  client.expect_notification("notifications/tools/list_changed");
  const json::object answer = client.call("echo", {{"text", "hello"}});
  EXPECT_THAT(text_of(answer),
              AllOf(StartsWith("[mcpivot] "), HasSubstr("generation 2"), HasSubstr("+new_tool")));
  EXPECT_EQ(own_text(answer), "hello");
  EXPECT_EQ(blocks(client.call("echo")), 1U);
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(1));
}

TEST(Restart, a_failed_build_after_a_hangup_signal_is_told_in_the_next_answer_once) {
  Client client(changing({"--build", "echo no cheese; exit 1"}));
  client.initialize();
  client.child().signal(SIGHUP);
  ASSERT_TRUE(wait_until([&] { return !status_of(client, "last build").empty(); }, soon()));
  const json::object answer = client.call("echo", {{"text", "hello"}});
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("no cheese"), HasSubstr("Generation 1 still serves")));
  EXPECT_EQ(own_text(answer), "hello");
  EXPECT_EQ(blocks(client.call("echo")), 1U);
}

// ---- Nothing stays behind.

TEST(Reload, a_client_that_goes_away_during_a_build_leaves_nothing_running) {
  for (const int how : {0, SIGTERM, SIGKILL}) {
    SCOPED_TRACE(how);
    Client client(changing({"--build", "trap '' TERM HUP INT; cat gate"}));
    Gate gate(client.directory() / "gate");
    client.initialize();
    client.send_call("pivot_rebuild");
    ASSERT_TRUE(gate.wait_for_visitor());
    const std::vector<pid_t> all = descendants_of(client.child().pid());
    EXPECT_GE(all.size(), 3U);
    if (how == 0) {
      client.child().close_stdin();
    } else {
      client.child().signal(how);
    }
    EXPECT_TRUE(client.child().wait_exit(soon()));
    EXPECT_TRUE(wait_gone(all));
  }
}

TEST(Reload, a_client_that_goes_away_while_a_server_is_being_stopped_is_not_kept) {
  for (const bool stop_first : {false, true}) {
    SCOPED_TRACE(stop_first);
    Client client({.options = {"--swap", stop_first ? "stop-first" : "overlap", "--build", "touch built"},
                   .server = {"--ignore-eof", "--ignore-term"},
                   .own_program = true});
    client.initialize();
    const std::vector<pid_t> all = descendants_of(client.child().pid());
    client.send_call(stop_first ? "pivot_rebuild" : "pivot_restart", {{"stop", true}});
    client.request("ping");
    client.child().close_stdin();
    EXPECT_TRUE(client.child().wait_exit(soon()));
    EXPECT_TRUE(wait_gone(all));
    EXPECT_FALSE(fs::exists(client.directory() / "built")) << "a build began after the client had gone";
  }
}

TEST(Reload, a_client_that_goes_away_during_a_swap_leaves_nothing_running) {
  Client client(changing({"--build", "true"}, {"--tap", "tap", "--hold", "initialize", "--ignore-term"}));
  client.initialize();
  client.send_call("sleep", {{"ms", for_ever}});
  client.send_call("pivot_rebuild");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  const std::vector<pid_t> all = descendants_of(client.child().pid());
  client.child().close_stdin();
  EXPECT_TRUE(client.child().wait_exit(soon()));
  EXPECT_TRUE(wait_gone(all));
}

TEST(Reload, a_server_that_forks_leaves_nothing_behind_after_a_swap) {
  Client client({.options = {"--build", "true"}, .server = {"--fork", "stubborn"}});
  client.initialize();
  const pid_t server = server_pid(client);
  std::vector<pid_t> old = children_of(server);
  ASSERT_THAT(old, SizeIs(1));
  old.push_back(server);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  EXPECT_TRUE(wait_gone(old));
}

TEST(Reload, five_hundred_times_costs_no_memory_no_descriptors_and_no_processes) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t pivot = client.child().pid();
  const auto swap = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_FALSE(is_error(client.call(i % 2 == 0 ? "pivot_rebuild" : "pivot_restart")));
      ASSERT_EQ(own(client, "echo", {{"text", "still"}}), "still");
    }
  };
  const auto at_rest = [&] { return children_of(pivot).size() == 2; };
  swap(20);
  ASSERT_TRUE(wait_until(at_rest, soon()));
  ASSERT_TRUE(wait_status(client, "draining", "0"));
  const std::size_t descriptors = open_fds(pivot);
  const long memory = rss_kb(pivot);
  swap(500);
  EXPECT_TRUE(wait_until(at_rest, soon()));
  EXPECT_TRUE(wait_status(client, "draining", "0"));
  EXPECT_EQ(open_fds(pivot), descriptors);
  if (is_sanitized()) return;
  EXPECT_LT(rss_kb(pivot), memory + 1024);
}

}  // namespace
}  // namespace harness
