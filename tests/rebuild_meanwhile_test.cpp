// What may happen during a rebuild: progress, cancellation, other rebuilds, crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// ---- Progress, cancellation, several callers.

TEST(Rebuild, streams_the_builds_output_as_progress) {
  Client client(changing({"--build", "echo step one; cat gate; echo step two"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto id = send_with_token(client, "pivot_rebuild");
  const json::object first = client.expect_notification("notifications/progress");
  EXPECT_EQ(first.at("params").at("progressToken"), "mine");
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

TEST(Rebuild, sends_no_progress_to_a_client_that_gave_no_token) {
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

TEST(Rebuild, requested_during_a_build_gets_its_own_build) {
  Client client(changing({"--build", "echo built >> builds; cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto first = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto second = client.send_call("pivot_rebuild");  // the current build may miss what is edited now
  const auto third = client.send_call("pivot_rebuild");
  settle(client);
  gate.open();
  EXPECT_THAT(text_of(client.await(first)), HasSubstr("generation 2"));
  ASSERT_TRUE(gate.wait_for_visitor());
  gate.open();
  for (const auto id : {second, third}) EXPECT_THAT(text_of(client.await(id)), HasSubstr("generation 3"));
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(2));
  EXPECT_EQ(state_of(client).at("life"), 3);
}

TEST(Rebuild, two_at_once_share_a_build_if_saves_are_watched) {
  Client client(changing({"--watch", "*.src", "--build", "echo built >> builds; cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto first = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto second = client.send_call("pivot_rebuild");
  settle(client);
  gate.open();
  for (const auto id : {first, second}) EXPECT_THAT(text_of(client.await(id)), HasSubstr("generation 2"));
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(1));
}

TEST(Rebuild, that_joins_the_build_after_a_save_is_reported_once) {
  Client client(changing({"--watch", "*.txt", "--build", "cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  std::ofstream(client.directory() / "a.txt") << "saved";
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto id = client.send_call("pivot_rebuild");
  client.call("pivot_status");
  gate.open();
  EXPECT_THAT(text_of(client.await(id)), HasSubstr("restarted: generation 2"));
  EXPECT_EQ(client.call_text("echo", {{"text", "next"}}), "next");
}

TEST(Rebuild, cancelling_the_first_of_two_does_not_affect_the_other) {
  Client client(changing({"--build", "echo built >> builds; cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto first = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto second = client.send_call("pivot_rebuild");
  client.notify("notifications/cancelled", {{"requestId", first}});
  ASSERT_TRUE(wait_until([&] { return lines_of(client.directory() / "builds").size() == 2; }, soon()));
  ASSERT_TRUE(gate.wait_for_visitor()) << "of the second build: the first was stopped";
  gate.open();
  EXPECT_FALSE(is_error(client.await(second)));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, after_a_crash_is_answered_with_the_outcome_of_the_build) {
  Client client(changing({"--no-watch", "--build", "cat gate; echo no cheese; exit 1"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  client.call("crash");
  const auto rebuild = client.send_call("pivot_rebuild");  // while the next generation is starting
  ASSERT_TRUE(gate.wait_for_visitor());
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_THAT(status_of(client, "building"), HasSubstr("for "));
  EXPECT_THAT(client.answers, IsEmpty()) << "it does not know yet";
  gate.open();
  const json::object answer = client.await(rebuild);
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("no cheese"));
  EXPECT_EQ(status_of(client, "building"), "");
}

TEST(Rebuild, stops_the_build_when_both_of_two_callers_cancel) {
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

// A restart doesn't build, so it isn't what was requested.
TEST(Rebuild, requested_during_a_restart_still_builds) {
  Client client(changing({"--build", "echo built >> builds"}, {"--tap", "tap", "--delay", "initialize=300"}));
  client.initialize();
  const auto restart = client.send_call("pivot_restart");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  const auto rebuild = client.send_call("pivot_rebuild");
  EXPECT_FALSE(is_error(client.await(restart)));
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(1));
}

TEST(Rebuild, cancelled_too_late_is_reported_in_the_next_result) {
  Client client(
      changing({"--build", "true"}, {"--tap", "tap", "--delay", "initialize=300", "--tool", "new_tool"}));
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  client.notify("notifications/cancelled", {{"requestId", rebuild}});
  ASSERT_TRUE(wait_status(client, "generation", "2"));
  EXPECT_THAT(client.call_text("echo"), AllOf(testing::StartsWith("[mcpivot] "), HasSubstr("+new_tool")));
  EXPECT_EQ(client.call_text("echo", {{"text", "once"}}), "once");
  EXPECT_THAT(client.answers, IsEmpty()) << "it was cancelled";
}

// ---- Crashes at a bad moment.

TEST(Rebuild, a_server_that_crashes_during_the_build_is_restarted_meanwhile) {
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
  EXPECT_TRUE(wait_status(client, "draining", "0"));
}

TEST(Rebuild, a_server_that_crashes_during_a_failing_build_serves_again) {
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

TEST(Rebuild, the_new_server_takes_over_if_the_old_one_crashes_during_the_swap) {
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

TEST(Rebuild, another_generation_is_started_if_both_die_during_the_swap) {
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

TEST(Rebuild, of_a_server_that_cannot_start_makes_it_work) {
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

TEST(Rebuild, a_crash_report_has_no_stderr_lines_of_the_other_generation) {
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

TEST(Rebuild, that_joins_the_build_after_a_save_and_is_cancelled_is_reported_once) {
  Client client(changing({"--watch", "*.txt", "--build", "cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  std::ofstream(client.directory() / "a.txt") << "saved";
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto id = client.send_call("pivot_rebuild");
  client.call("pivot_status");
  client.notify("notifications/cancelled", {{"requestId", id}});
  client.call("pivot_status");
  gate.open();
  const std::string text = client.call_text("echo", {{"text", "next"}});
  const auto first = text.find("restarted: generation 2");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.rfind("restarted: generation 2"), first);
}

}  // namespace
}  // namespace harness
