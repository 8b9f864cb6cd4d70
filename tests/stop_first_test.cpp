// Servers that can't run twice: the old one has ended before the new one starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <functional>

#include "lives.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

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
  EXPECT_THAT(text_of(answer),
              AllOf(HasSubstr("no cheese"), HasSubstr("mcpivot is starting the last good server again")));
  EXPECT_EQ(state_of(client).at("life"), 2);
}

TEST(StopFirst, two_servers_never_run_at_once) {
  // A lock that a second server could not get.
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

TEST(StopFirst, a_call_that_arrives_while_the_old_server_ends_waits_for_the_new_one) {
  Client client({.options = {"--swap", "stop-first", "--build", "true"},
                 .server = {"--lives", "lives", "--ignore-eof"}});
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  const auto call = client.send_call("state");
  EXPECT_THAT(own_text(client.await(call)), HasSubstr(R"("life":2)"));
  EXPECT_FALSE(is_error(client.await(rebuild)));
}

// Once the first build has been swapped in, the server ends again for the second one.
void expect_a_call_waits_for_the_second_build(const std::function<std::int64_t(Client&)>& ask_again) {
  Client client(changing({"--swap", "stop-first", "--build", "cat gate", "--log", "own.log"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto first = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto waiting = client.send_call("state");
  const auto second = ask_again(client);
  EXPECT_TRUE(client.request("ping").contains("result"));
  gate.open();
  EXPECT_THAT(text_of(client.await(first)), HasSubstr("generation 2"));
  ASSERT_TRUE(gate.wait_for_visitor());
  EXPECT_THAT(client.answers, testing::IsEmpty()) << "the call went to a server that was about to end";
  gate.open();
  EXPECT_THAT(own_text(client.await(waiting)), HasSubstr(R"("life":3)"));
  if (second == 0) return;
  EXPECT_THAT(text_of(client.await(second)), HasSubstr("generation 3"));
}

TEST(StopFirst, a_call_that_waits_during_the_build_survives_a_second_rebuild) {
  expect_a_call_waits_for_the_second_build([](Client& client) { return client.send_call("pivot_rebuild"); });
}

TEST(StopFirst, a_call_that_waits_during_the_build_survives_a_hangup_signal) {
  expect_a_call_waits_for_the_second_build([](Client& client) {
    client.child().signal(SIGHUP);
    const auto log = client.directory() / "own.log";
    EXPECT_TRUE(wait_until(
        [&] { return content_of(log).find("reloading after SIGHUP") != std::string::npos; }, soon()));
    return std::int64_t{0};
  });
}

TEST(StopFirst, a_rebuild_during_a_restart_builds_once_that_server_has_ended) {
  Client client({.options = {"--swap", "stop-first", "--build", "flock -n lock true"},
                 .command = {"flock", "-n", "-E", "99", "lock", fake_server_binary(), "--lives", "lives",
                             "--life", "2+", "--tap", "tap", "--delay", "initialize=300"}});
  client.initialize();
  const auto restart = client.send_call("pivot_restart");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  const auto rebuild = client.send_call("pivot_rebuild");
  EXPECT_FALSE(is_error(client.await(restart)));
  const json::object answer = client.await(rebuild);
  EXPECT_FALSE(is_error(answer)) << text_of(answer);
}

}  // namespace
}  // namespace harness
