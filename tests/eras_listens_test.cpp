// `subscriptions/listen` ends at mcpivot in every pair: it outlives servers, keeps none of them busy, and
// reports each change once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eras.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const json::object everything = {
    {"toolsListChanged", true}, {"promptsListChanged", true}, {"resourcesListChanged", true}};

std::string run(Client& client, const Strings& arguments) {
  return run_mcpivot(arguments, client.directory()).out;
}

class EraListens : public testing::TestWithParam<Era> {
 protected:
  EraListens() { greet(client_, Era::modern); }
  Client client_{{.server = of_era(GetParam(), {"--tap", "tap"})}};
};

INSTANTIATE_TEST_SUITE_P(Servers, EraListens, testing::Values(Era::legacy, Era::modern),
                         [](const auto& era) { return text(era.param); });

TEST_P(EraListens, several_listeners_each_receive_what_they_asked_for) {
  const auto tools = listen(client_, {{"toolsListChanged", true}});
  const auto both = listen(client_, {{"toolsListChanged", true}, {"promptsListChanged", false}});
  listen(client_, {{"promptsListChanged", true}});
  listen(client_, json::object());
  settle(client_);
  client_.call("mutate");
  std::set<std::int64_t> heard;
  for (int i = 0; i < 2; ++i)
    heard.insert(subscription_of(client_.expect_notification("notifications/tools/list_changed")).as_int64());
  EXPECT_THAT(heard, testing::ElementsAre(tools, both));
  settle(client_);
  EXPECT_THAT(client_.notifications, IsEmpty());
}

TEST_P(EraListens, the_first_lists_are_not_announced_as_changes) {
  Client client({.server = of_era(GetParam(), {"--delay", "tools/list=50"})});
  client.meta = modern_meta();
  listen(client, everything);
  EXPECT_THAT(tools_of(client), Contains("echo"));
  client.call("sleep", {{"ms", 600}});  // longer than announcements are delayed
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST_P(EraListens, a_listen_is_acknowledged_with_what_it_will_receive) {
  client_.send("subscriptions/listen", {{"notifications",
                                         {{"toolsListChanged", true},
                                          {"promptsListChanged", false},
                                          {"resourceSubscriptions", json::array{"fake://hello"}},
                                          {"noSuchThing", true}}}});
  const json::object first = client_.expect_notification("notifications/subscriptions/acknowledged");
  EXPECT_EQ(
      first.at("params").at("notifications"),
      (json::object{{"toolsListChanged", true}, {"resourceSubscriptions", json::array{"fake://hello"}}}));
}

TEST_P(EraListens, a_cancelled_listen_receives_nothing_more_and_no_response) {
  const auto gone = listen(client_, everything);
  const auto stays = listen(client_, everything);
  client_.notify("notifications/cancelled", {{"requestId", gone}});
  settle(client_);
  client_.call("mutate");
  EXPECT_EQ(subscription_of(client_.expect_notification("notifications/tools/list_changed")), stays);
  settle(client_);
  EXPECT_THAT(client_.notifications, IsEmpty());
  EXPECT_THAT(client_.answers, IsEmpty());
}

TEST_P(EraListens, all_listens_end_with_a_result_when_mcpivot_ends) {
  const auto one = listen(client_, everything);
  const auto two = listen(client_, json::object());
  client_.child().close_stdin();
  for (const auto id : {one, two}) {
    const json::object answer = client_.await(id);
    EXPECT_EQ(answer.at("result").at("resultType"), "complete");
    EXPECT_EQ(answer.at("result").at("_meta").at(subscription_key), json::value(id));
  }
  EXPECT_TRUE(client_.child().wait_exit(soon()));
}

TEST_P(EraListens, ids_may_be_strings) {
  client_.child().send_line(
      json::serialize(json::object{{"jsonrpc", "2.0"},
                                   {"id", "listen:\"0\""},
                                   {"method", "subscriptions/listen"},
                                   {"params", {{"_meta", modern_meta()}, {"notifications", everything}}}}));
  EXPECT_EQ(subscription_of(client_.expect_notification("notifications/subscriptions/acknowledged")),
            "listen:\"0\"");
  settle(client_);
  client_.call("mutate");
  EXPECT_EQ(subscription_of(client_.expect_notification("notifications/tools/list_changed")), "listen:\"0\"");
}

TEST_P(EraListens, their_number_is_limited) {
  for (int i = 0; i < 4096; ++i) listen(client_, json::object());
  EXPECT_TRUE(client_.request("subscriptions/listen", {{"notifications", json::object()}}).contains("error"));
  EXPECT_FALSE(is_error(client_.call("echo")));
}

TEST_P(EraListens, a_listen_without_a_valid_filter_is_rejected_or_receives_nothing) {
  for (const json::value& wrong :
       {json::value(nullptr), json::value(7), json::value(json::array()), json::value("all")}) {
    const auto id = client_.send("subscriptions/listen", {{"notifications", wrong}});
    EXPECT_EQ(code_of(client_.await(id)), -32602) << wrong;
  }
  EXPECT_EQ(code_of(client_.request("subscriptions/listen")), -32602);
  listen(client_, {{"toolsListChanged", "yes"}, {"resourceSubscriptions", json::array{7, json::object()}}});
  settle(client_);
  client_.call("mutate");
  settle(client_);
  EXPECT_THAT(client_.notifications, IsEmpty());
}

TEST_P(EraListens, a_hundred_thousand_resources_are_harmless) {
  json::array uris;
  for (int i = 0; i < 100'000; ++i) uris.emplace_back("fake://item/" + std::to_string(i));
  listen(client_, {{"resourceSubscriptions", uris}});
  EXPECT_FALSE(is_error(client_.call("echo")));
}

// ---- They keep nothing busy.

TEST(EraListensIdle, a_server_rests_even_if_a_client_listens) {
  for (const Era client_era : {Era::legacy, Era::modern}) {
    for (const Era server_era : {Era::legacy, Era::modern}) {
      SCOPED_TRACE(text(client_era) + " client, " + text(server_era) + " server");
      Client client(with({{"alpha", server({}, {{"active", true}})},
                          {"beta", server(of_era(server_era), {{"idle_stop", "100ms"}})}}));
      greet(client, client_era);
      if (client_era == Era::modern) {
        listen(client, everything);
        listen(client, {{"resourceSubscriptions", json::array{"fake://hello"}}});
      }
      wait_ready(client, {"alpha"});
      EXPECT_TRUE(wait_until(
          [&] { return own(client, "pivot_status", {{"server", "beta"}}).contains("nobody needed it"); },
          soon()));
      EXPECT_EQ(own(client, "pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "up"}}}}), "up");
    }
  }
}

// ---- Servers whose own listens are odd.

TEST(EraUpstreamListen, rejected_unanswered_or_ended_only_costs_the_notifications) {
  for (const char* how : {"refuse", "hold", "end"}) {
    for (const Era era : {Era::legacy, Era::modern}) {
      SCOPED_TRACE(std::string(how) + ", " + text(era) + " client");
      Client client({.server = {"--era", "modern", "--listen", how, "--tap", "tap"}});
      greet(client, era);
      for (int i = 0; i < 20; ++i) EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
      const Strings lines = lines_of(client.directory() / "tap");
      const auto asked = std::ranges::count_if(
          lines, [](const std::string& line) { return line.contains("subscriptions/listen"); });
      EXPECT_GE(asked, 1);
      EXPECT_LE(asked, 6) << "it is not asked in a loop";
      const pid_t old = server_pid(client);
      client.call("pivot_restart");
      EXPECT_TRUE(wait_gone({old}));
    }
  }
}

TEST(EraUpstreamListen, of_a_legacy_client_follows_its_subscriptions) {
  Client client({.server = {"--era", "modern"}});
  greet(client, Era::legacy);
  EXPECT_TRUE(client.request("resources/subscribe", {{"uri", "fake://hello"}}).contains("result"));
  EXPECT_TRUE(client.request("resources/subscribe", {{"uri", "fake://item/1"}}).contains("result"));
  EXPECT_EQ(state_of(client).at("listens"), 1) << "there is one, whatever it asks for";
  client.call("touch", {{"uri", "fake://item/1"}});
  EXPECT_EQ(client.expect_notification("notifications/resources/updated").at("params").at("uri"),
            "fake://item/1");
  EXPECT_TRUE(client.request("resources/unsubscribe", {{"uri", "fake://item/1"}}).contains("result"));
  client.call("touch", {{"uri", "fake://item/1"}});
  client.call("touch", {{"uri", "fake://hello"}});
  const json::object told = client.expect_notification("notifications/resources/updated");
  EXPECT_EQ(told.at("params").at("uri"), "fake://hello");
  EXPECT_FALSE(told.at("params").as_object().contains("_meta") &&
               told.at("params").at("_meta").as_object().contains(subscription_key));
  settle(client);
  EXPECT_THAT(client.notifications, IsEmpty());
  EXPECT_EQ(state_of(client).at("listens"), 1);
}

TEST(EraUpstreamListen, rejected_by_the_server_fails_the_subscription) {
  Client client({.server = {"--era", "modern", "--listen", "refuse"}});
  greet(client, Era::legacy);
  EXPECT_TRUE(client.request("resources/subscribe", {{"uri", "fake://hello"}}).contains("error"));
}

// ---- What a terminal does.

TEST(EraTerminal, modern_listeners_are_told_what_a_terminal_activates) {
  Client client(with(two()));
  greet(client, Era::modern);
  wait_ready(client, {"alpha", "beta"});
  const auto id = listen(client, everything);
  EXPECT_THAT(tools_of(client), testing::Not(Contains("beta__echo")));
  EXPECT_THAT(run(client, {"activate", "beta"}), HasSubstr("beta__echo"));
  EXPECT_EQ(subscription_of(client.expect_notification("notifications/tools/list_changed")), id);
  EXPECT_THAT(tools_of(client), Contains("beta__echo"));
  EXPECT_EQ(run_mcpivot({"deactivate", "beta"}, client.directory()).exit_code, 0);
  EXPECT_EQ(subscription_of(client.expect_notification("notifications/tools/list_changed")), id);
  EXPECT_THAT(tools_of(client), testing::Not(Contains("beta__echo")));
}

}  // namespace
}  // namespace harness
