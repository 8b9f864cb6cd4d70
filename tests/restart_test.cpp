// A new generation without a build, or a stop until the next request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST(Restart, starts_a_new_generation_without_a_build) {
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

TEST(Restart, does_not_mention_an_earlier_crash_again) {
  Client client;
  client.initialize();
  EXPECT_THAT(text_of(client.call("crash")), HasSubstr("SIGABRT"));
  EXPECT_THAT(text_of(client.call("echo")), AllOf(HasSubstr("(after a crash)"), Not(HasSubstr("SIGABRT"))))
      << "the report has told that";
  EXPECT_THAT(text_of(client.call("pivot_restart")), Not(HasSubstr("SIGABRT")));
}

TEST(Restart, gets_a_generation_started_after_the_request) {
  Client client({.command = {"sh", "-c", "[ ! -e gate ] || cat gate; exec " + fake_server_binary()}});
  client.initialize();
  Gate gate(client.directory() / "gate");
  const auto first = client.send_call("pivot_restart");
  ASSERT_TRUE(gate.wait_for_visitor());  // it hangs
  fs::remove(client.directory() / "gate");
  const auto second = client.send_call("pivot_restart");
  for (const auto id : {first, second}) EXPECT_THAT(text_of(client.await(id)), HasSubstr("generation 3"));
  EXPECT_EQ(own(client, "echo", {{"text", "works"}}), "works");
}

TEST(Restart, with_stop_ends_the_server_until_a_request_needs_it) {
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

TEST(Restart, with_stop_answers_a_call_in_flight) {
  Client client({.own_program = true});
  client.initialize();
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_restart", {{"stop", true}})));
  EXPECT_TRUE(is_error(client.await(call)));
}

TEST(Restart, with_stop_twice_answers_both) {
  Client client({.server = {"--ignore-eof", "--ignore-term"}, .own_program = true});
  client.initialize();
  const auto first = client.send_call("pivot_restart", {{"stop", true}});
  const auto second = client.send_call("pivot_restart", {{"stop", true}});
  EXPECT_FALSE(is_error(client.await(first)));
  EXPECT_FALSE(is_error(client.await(second)));
  EXPECT_EQ(status_of(client, "state"), "stopped");
}

TEST(Restart, with_stop_and_then_without_answers_both) {
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

TEST(Restart, with_stop_also_stops_a_server_that_is_starting) {
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

TEST(Restart, after_a_stop_a_call_while_the_server_is_ending_starts_it_again) {
  Client client({.server = {"--lives", "lives", "--ignore-eof"}, .own_program = true});
  client.initialize();
  const auto stop = client.send_call("pivot_restart", {{"stop", true}});
  const auto call = client.send_call("state");
  EXPECT_THAT(own_text(client.await(call)), HasSubstr(R"("life":2)"));
  EXPECT_FALSE(is_error(client.await(stop)));
}

TEST(Restart, a_hangup_signal_rebuilds_and_is_reported_in_the_next_result) {
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

TEST(Restart, a_failed_build_after_a_hangup_signal_is_reported_once) {
  Client client(changing({"--build", "echo no cheese; exit 1"}));
  client.initialize();
  client.child().signal(SIGHUP);
  ASSERT_TRUE(wait_until([&] { return !status_of(client, "last build").empty(); }, soon()));
  EXPECT_THAT(status_of(client, "last build"), StartsWith("failed: it exited with code 1 after "));
  const json::object answer = client.call("echo", {{"text", "hello"}});
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("no cheese"), HasSubstr("Generation 1 is still serving")));
  EXPECT_EQ(own_text(answer), "hello");
  EXPECT_EQ(blocks(client.call("echo")), 1U);
}

}  // namespace
}  // namespace harness
