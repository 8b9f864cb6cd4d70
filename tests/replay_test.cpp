// A new generation gets what the client sent to the old one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Replay, a_new_generation_gets_what_the_client_sent_to_the_old_one) {
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

TEST(Replay, also_happens_after_a_crash) {
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

TEST(Replay, the_last_successful_call_of_a_listed_tool_is_repeated_after_each_start) {
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

TEST(Replay, that_fails_is_reported_and_blocks_nothing) {
  // The tool doesn't exist in the second life.
  Client client({.options = {"--replay", "connect"},
                 .server = {"--lives", "lives", "--life", "1", "--tool", "connect"}});
  client.initialize();
  client.call("connect");
  const json::object answer = client.call("pivot_restart");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("connect"), HasSubstr("Unknown tool")));
  EXPECT_EQ(own(client, "echo", {{"text", "works"}}), "works");
}

TEST(Replay, that_never_answers_is_reported_and_does_not_block_the_server) {
  Client client({.options = {"--replay", "sleep", "--start-timeout", "1s"}, .server = {"--lives", "lives"}});
  client.initialize();
  client.call("sleep", {{"ms", 1'500}});
  const json::object answer = client.call("pivot_restart");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer),
              HasSubstr("not replayed: the call of sleep (no answer within 1 s of the start)"));
  EXPECT_EQ(own(client, "echo", {{"text", "works"}}), "works");
}

}  // namespace
}  // namespace harness
