#include "bridge/legacy_facade_fixture.h"

namespace mcpivot {
namespace {

class LegacySubscriptions : public LegacyFacadeTest {
 protected:
  void subscribe(int id, std::string_view uri) {
    client(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"resources/subscribe","params":{{"uri":"{}"}}}})", id, uri));
  }
  void unsubscribe(int id, std::string_view uri) {
    client(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"resources/unsubscribe","params":{{"uri":"{}"}}}})", id, uri));
  }
  void acknowledge(int listen, std::string_view filter) {
    server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":"listen-{}"}},"notifications":{}}}}})",
        listen, filter));
  }
  void notify(std::string_view method, std::string_view listen) {
    server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/{}","params":{{"uri":"a","_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})",
        method, listen));
  }
  std::string filter() { return at(down(), {"params", "notifications"}); }
  void server_ends(int listen) {
    answer(fmt::format(R"("listen-{}")", listen), R"({"resultType":"complete"})");
  }
  void server_refuses(int listen, int code) {
    server(fmt::format(R"({{"jsonrpc":"2.0","id":"listen-{}","error":{{"code":{},"message":"because"}}}})",
                       listen, code));
  }
  void ping() {
    client(R"({"jsonrpc":"2.0","id":50,"method":"ping"})");
    up();
  }
  // Listens to the list of tools, with the server's acknowledgement.
  void listen_to_tools() {
    facade.listen(R"({"capabilities":{"tools":{"listChanged":true}}})");
    EXPECT_EQ(filter(), R"({"toolsListChanged":true})");
    acknowledge(1, R"({"toolsListChanged":true})");
  }
  static constexpr std::string_view done = R"({"jsonrpc":"2.0","id":4,"result":{}})";
};

TEST_F(LegacySubscriptions, a_subscription_replaces_the_listen_and_is_answered_when_acknowledged) {
  listen_to_tools();
  subscribe(4, "a");
  EXPECT_EQ(filter(), R"({"toolsListChanged":true,"resourceSubscriptions":["a"]})");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
  acknowledge(2, R"({"toolsListChanged":true,"resourceSubscriptions":["\u0061"]})");
  const std::string cancelled = down();
  EXPECT_EQ(at(cancelled, {"method"}), R"("notifications/cancelled")");
  EXPECT_EQ(at(cancelled, {"params", "requestId"}), R"("listen-1")");
  EXPECT_EQ(up(), done);
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacySubscriptions, a_subscription_already_in_effect_is_answered_at_once) {
  subscribe(3, "a");
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  down(), up();
  subscribe(4, "a");
  EXPECT_EQ(up(), done);
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacySubscriptions, a_subscription_that_the_server_does_not_acknowledge_fails) {
  subscribe(4, "a");
  down();
  acknowledge(1, R"({"resourceSubscriptions":["b",5]})");
  EXPECT_EQ(at(ends.up.front(), {"id"}), "4");
  EXPECT_NE(error_words().find("a subscription to a"), std::string::npos);
  subscribe(5, "b");
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["b"]})");
}

TEST_F(LegacySubscriptions, a_rejected_subscription_fails_with_the_reason) {
  listen_to_tools();
  subscribe(4, "a");
  down();
  server_refuses(2, -32603);
  const std::string refused = up();
  EXPECT_EQ(at(refused, {"error", "code"}), "-32603");
  EXPECT_NE(at(refused, {"error", "message"}).find("because"), std::string::npos);
  // What was there before is still there.
  notify("tools/list_changed", R"("listen-1")");
  EXPECT_FALSE(up().empty());
  ping();
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacySubscriptions, a_rejection_concerns_no_subscription_that_was_made_later) {
  listen_to_tools();
  subscribe(3, "bad");
  down();
  subscribe(4, "good");
  server_refuses(2, -32602);
  EXPECT_EQ(at(up(), {"id"}), "3");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_EQ(filter(), R"({"toolsListChanged":true,"resourceSubscriptions":["good"]})");
  acknowledge(3, R"({"toolsListChanged":true,"resourceSubscriptions":["good"]})");
  EXPECT_EQ(up(), done);
}

TEST_F(LegacySubscriptions, several_that_are_rejected_together_are_tried_one_by_one) {
  subscribe(3, "z");
  down();
  subscribe(5, "a");
  subscribe(4, "b");
  subscribe(6, "c");
  acknowledge(1, R"({"resourceSubscriptions":["z"]})");
  EXPECT_EQ(at(up(), {"id"}), "3");
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["a","b","c","z"]})");
  server_refuses(2, -32602);
  EXPECT_TRUE(ends.up.empty());
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["a","z"]})");
  unsubscribe(7, "c");  // its client doesn't wait for its turn
  EXPECT_EQ(at(up(), {"id"}), "7");
  server_refuses(3, -32602);
  EXPECT_EQ(at(up(), {"error", "code"}), "-32602");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":6,"result":{}})");
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["b","z"]})");
  acknowledge(4, R"({"resourceSubscriptions":["b","z"]})");
  EXPECT_EQ(up(), done);
}

TEST_F(LegacySubscriptions, a_subscription_without_a_uri_is_an_error) {
  client(R"({"jsonrpc":"2.0","id":4,"method":"resources/subscribe"})");
  EXPECT_EQ(at(up(), {"error", "code"}), "-32602");
  client(R"({"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":1}})");
  EXPECT_EQ(at(up(), {"error", "code"}), "-32602");
}

TEST_F(LegacySubscriptions, an_unsubscription_narrows_the_listen) {
  subscribe(1, "a");
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  subscribe(2, "b");
  acknowledge(2, R"({"resourceSubscriptions":["a","b"]})");
  ends.down.clear(), ends.up.clear();
  unsubscribe(4, "a");
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["b"]})");
  EXPECT_TRUE(ends.up.empty());
  notify("resources/updated", R"("listen-2")");  // of a, which is no longer wanted
  EXPECT_TRUE(ends.up.empty());
  acknowledge(3, R"({"resourceSubscriptions":["b"]})");
  EXPECT_EQ(up(), done);
  EXPECT_EQ(at(down(), {"params", "requestId"}), R"("listen-2")");
}

TEST_F(LegacySubscriptions, the_last_unsubscription_cancels_the_listen) {
  subscribe(1, "a");
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  down(), up();
  unsubscribe(4, "a");
  EXPECT_EQ(at(down(), {"params", "requestId"}), R"("listen-1")");
  EXPECT_EQ(up(), done);
  unsubscribe(4, "never");
  EXPECT_EQ(up(), done);
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacySubscriptions, a_subscription_made_while_a_listen_opens_is_sent_after_it) {
  subscribe(1, "a");
  subscribe(2, "b");
  unsubscribe(3, "a");
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["a"]})");
  EXPECT_TRUE(ends.down.empty());
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  EXPECT_EQ(at(up(), {"id"}), "1");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["b"]})");
  acknowledge(2, R"({"resourceSubscriptions":["b"]})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":2,"result":{}})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":3,"result":{}})");
}

TEST_F(LegacySubscriptions, a_subscription_that_is_withdrawn_before_its_listen_opens_is_answered) {
  subscribe(1, "a");
  subscribe(2, "b");
  unsubscribe(3, "b");
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  EXPECT_EQ(ends.up.size(), 3U);
}

TEST_F(LegacySubscriptions, a_waiting_subscription_can_be_cancelled) {
  subscribe(7, "a");
  down();
  cancel();
  EXPECT_TRUE(ends.down.empty());
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_EQ(at(down(), {"params", "requestId"}), R"("listen-1")");
}

TEST_F(LegacySubscriptions, an_unsolicited_response_does_not_answer_a_waiting_subscription) {
  subscribe(4, "a");
  answer("4", "{}");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_EQ(facade.lost("4"), "");
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  EXPECT_EQ(up(), done);
}

TEST_F(LegacySubscriptions, the_number_of_subscriptions_is_limited) {
  LegacyFacadeEnds others;
  LegacyFacade small(others, "{}", {.rounds = 1, .questions = 1, .subscriptions = 1});
  for (const std::string_view uri : {"a", "b"}) {
    const std::string line = fmt::format(
        R"({{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{{"uri":"{}"}}}})", uri);
    small.from_client(*read_message(line), {});
  }
  EXPECT_EQ(others.down.size(), 1U);
  EXPECT_NE(at(others.up.at(0), {"error", "message"}).find("limit"), std::string::npos);
}

// What arrives on it

TEST_F(LegacySubscriptions, changes_go_up_without_the_subscription_id) {
  listen_to_tools();
  server(
      R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen-1"}}})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{}}})");
  server(
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"x":1.0, "io.modelcontextprotocol\/subscriptionId":"listen-1", "y":2},"uri":"u"}})");
  EXPECT_EQ(
      up(),
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"x":1.0, "y":2},"uri":"u"}})");
}

TEST_F(LegacySubscriptions, the_acknowledgement_is_not_passed_on) {
  listen_to_tools();
  acknowledge(1, "{}");
  acknowledge(9, "{}");
  server(R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"})");
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacySubscriptions, changes_of_an_unknown_subscription_are_dropped) {
  listen_to_tools();
  for (const std::string_view id : {R"("listen-2")", R"("x")", "1", R"("listen-")", "null"})
    notify("tools/list_changed", id);
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacySubscriptions, a_change_that_arrives_on_both_listens_is_passed_on_once) {
  listen_to_tools();
  subscribe(4, "a");
  notify("tools/list_changed", R"("listen-1")");
  EXPECT_FALSE(up().empty());
  notify("tools/list_changed", R"("listen-2")");
  EXPECT_TRUE(ends.up.empty());
  acknowledge(2, R"({"toolsListChanged":true,"resourceSubscriptions":["a"]})");
  EXPECT_EQ(up(), done);
  notify("tools/list_changed", R"("listen-1")");
  EXPECT_TRUE(ends.up.empty());
  notify("tools/list_changed", R"("listen-2")");
  EXPECT_FALSE(up().empty());
}

TEST_F(LegacySubscriptions, changes_without_a_subscription_id_are_passed_on) {
  const std::string_view line = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
  server(line);
  EXPECT_EQ(up(), line);
}

// When it ends

TEST_F(LegacySubscriptions, a_listen_that_the_server_ends_is_opened_again_at_the_next_use) {
  listen_to_tools();
  server_ends(1);
  EXPECT_TRUE(ends.down.empty());
  ping();
  EXPECT_EQ(filter(), R"({"toolsListChanged":true})");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacySubscriptions, a_listen_that_the_server_cancels_is_reopened_after_a_delay) {
  listen_to_tools();
  server(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"listen-1"}})");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
  facade.expire();
  EXPECT_EQ(filter(), R"({"toolsListChanged":true})");
}

TEST_F(LegacySubscriptions, a_lost_listen_is_reopened_silently) {
  listen_to_tools();
  EXPECT_EQ(facade.lost(R"("listen-1")"), "");
  facade.expire();
  EXPECT_EQ(filter(), R"({"toolsListChanged":true})");
}

TEST_F(LegacySubscriptions, whatever_may_have_changed_while_the_listen_was_lost_is_reported_as_changed) {
  subscribe(4, "a");
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  EXPECT_EQ(up(), done);
  facade.listen(R"({"capabilities":{"tools":{"listChanged":true}}})");
  acknowledge(2, R"({"toolsListChanged":true,"resourceSubscriptions":["a"]})");
  EXPECT_TRUE(ends.up.empty());  // there was no gap
  server_ends(2);
  facade.expire();
  acknowledge(3, R"({"toolsListChanged":true,"resourceSubscriptions":["a"]})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}})");
}

TEST_F(LegacySubscriptions, a_server_that_rejects_a_listen_is_retried_less_and_less_often) {
  facade.listen(R"({"capabilities":{"tools":{"listChanged":true}}})");
  std::vector<int> waits;
  for (int listen = 1; listen <= 9; ++listen) {
    down();
    server_refuses(listen, -32603);
    int uses = 0;
    for (; ends.down.empty() && uses < 1000; ++uses) {
      if (uses % 2 == 0) {
        ping();
      } else {
        facade.expire();
      }
    }
    waits.push_back(uses);
  }
  EXPECT_EQ(waits, (std::vector{1, 2, 4, 8, 16, 32, 64, 64, 64}));
}

TEST_F(LegacySubscriptions, a_listen_that_ends_right_after_acknowledgement_is_retried_less_and_less_often) {
  facade.listen(R"({"capabilities":{"tools":{"listChanged":true}}})");
  for (const int expected : {1, 2, 4, 8}) {
    const std::string id = at(down(), {"id"});
    server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})",
        id));
    answer(id, "{}");
    int uses = 0;
    for (; ends.down.empty() && uses < 1000; ++uses) ping();
    EXPECT_EQ(uses, expected);
  }
}

TEST_F(LegacySubscriptions, a_server_without_the_listen_method_is_never_asked_again) {
  facade.listen(R"({"capabilities":{"tools":{"listChanged":true}}})");
  down();
  server_refuses(1, -32601);
  for (int i = 0; i < 1000; ++i) facade.expire();
  EXPECT_TRUE(ends.down.empty());
  subscribe(4, "a");
  EXPECT_TRUE(ends.down.empty());
  EXPECT_EQ(at(up(), {"error", "code"}), "-32601");
}

TEST_F(LegacySubscriptions, a_waiting_subscription_fails_if_the_server_has_no_listen_method) {
  subscribe(4, "a");
  server_refuses(1, -32601);
  EXPECT_EQ(at(up(), {"error", "code"}), "-32601");
}

TEST_F(LegacySubscriptions, subscribing_again_reopens_an_ended_listen_at_once) {
  subscribe(3, "a");
  acknowledge(1, R"({"resourceSubscriptions":["a"]})");
  for (const int listen : {1, 2}) {
    server_ends(listen);
    if (listen == 1) facade.expire();
  }
  ends.down.clear(), ends.up.clear();
  facade.expire();
  subscribe(4, "a");
  EXPECT_EQ(filter(), R"({"resourceSubscriptions":["a"]})");
  acknowledge(3, R"({"resourceSubscriptions":["a"]})");
  EXPECT_EQ(up(), done);
}

}  // namespace
}  // namespace mcpivot
