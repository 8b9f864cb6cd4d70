// Servers that cannot run twice: the old one is gone before the new one starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace harness
