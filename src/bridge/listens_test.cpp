// `subscriptions/listen` in front of a legacy server.
#include "bridge/listens.h"

#include <gtest/gtest.h>

#include "bridge/modern_facade_ends.h"
#include "rpc/answers.h"

namespace mcpivot {
namespace {

std::string changed(std::string_view what) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/{}/list_changed"}})", what);
}
std::string tagged(std::string_view what, int id) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/{}/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})",
      what, id);
}
std::string updated(std::string_view uri) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{}"}}}})", uri);
}
std::string updated_for(std::string_view uri, int id) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"uri":"{}"}}}})",
      id, uri);
}
std::string listen(std::string_view id, std::string_view filter) {
  return modern_request(id, "subscriptions/listen", fmt::format(R"("notifications":{})", filter));
}
std::string acknowledged(int id, std::string_view filter) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{}}}}})",
      id, filter);
}
std::string subscription(int number, std::string_view verb, std::string_view uri) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":"mcpivot-subscription-{}","method":"resources/{}","params":{{"uri":"{}"}}}})",
      number, verb, uri);
}

TEST(Listens, a_listen_is_acknowledged_before_its_resources_are_subscribed_to) {
  Stage stage;
  Lines before;
  stage.ends.on_up = [&](const std::string&) { before = stage.ends.down; };
  stage.from_client(listen(
      "5",
      R"({"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a","b","a",3]})"));
  EXPECT_EQ(stage.up(),
            Lines{acknowledged(5, R"({"toolsListChanged":true,"resourceSubscriptions":["a","b"]})")});
  EXPECT_TRUE(before.empty());
  EXPECT_EQ(stage.down(), (Lines{subscription(1, "subscribe", "a"), subscription(2, "subscribe", "b")}));
  stage.from_server(result_answer(R"("mcpivot-subscription-1")", "{}"));
  stage.from_server(error_answer(R"("mcpivot-subscription-2")", -32602, "no"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(Listens, only_what_the_server_can_report_is_acknowledged) {
  Stage stage(
      R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{"listChanged":true},"resources":{"subscribe":false}}})");
  stage.from_client(listen(
      "5",
      R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a"]})"));
  EXPECT_EQ(stage.up(), Lines{acknowledged(5, R"({"promptsListChanged":true})")});
  EXPECT_TRUE(stage.down().empty());
}

TEST(Listens, each_interested_listen_gets_a_change_once_with_its_id) {
  Stage stage;
  stage.from_client(listen("5", R"({"toolsListChanged":true})"));
  stage.from_client(listen("6", R"({"toolsListChanged":true,"promptsListChanged":true})"));
  stage.up();
  stage.from_server(changed("tools"));
  EXPECT_EQ(stage.up(), (Lines{tagged("tools", 5), tagged("tools", 6)}));
  stage.from_server(changed("prompts"));
  EXPECT_EQ(stage.up(), Lines{tagged("prompts", 6)});
}

TEST(Listens, a_list_change_that_no_listen_covers_passes_unchanged) {
  Stage stage;
  stage.from_server(changed("tools"));
  EXPECT_EQ(stage.up(), Lines{changed("tools")});
  stage.from_client(listen("5", R"({"toolsListChanged":true})"));
  stage.up();
  stage.from_server(changed("resources"));
  EXPECT_EQ(stage.up(), Lines{changed("resources")});
}

TEST(Listens, the_subscription_id_is_added_to_existing_meta) {
  Stage stage;
  stage.from_client(listen("5", R"({"toolsListChanged":true})"));
  stage.up();
  const auto becomes = [&](std::string_view params) {
    stage.from_server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}})", params));
    const Lines up = stage.up();
    EXPECT_EQ(up.size(), 1U);
    const Message message = *read_message(up.at(0));
    return std::string(message.text(message.params));
  };
  const std::string id = R"("io.modelcontextprotocol/subscriptionId":5)";
  EXPECT_EQ(becomes("{}"), R"({"_meta":{)" + id + "}}");
  EXPECT_EQ(becomes(R"({ "x":1})"), R"({"_meta":{)" + id + R"(}, "x":1})");
  EXPECT_EQ(becomes(R"({"_meta":{"a":1}})"), R"({"_meta":{)" + id + R"(,"a":1}})");
  EXPECT_EQ(becomes(R"({"_meta":{ }})"), R"({"_meta":{)" + id + " }}");
  EXPECT_EQ(becomes(R"({"_meta":null})"), R"({"_meta":{)" + id + "}}");
  EXPECT_EQ(becomes(R"({"_meta":{"io.modelcontextprotocol/subscriptionId":"x","b":2}})"),
            R"({"_meta":{)" + id + R"(,"b":2}})");
  EXPECT_EQ(becomes(R"([1])"), R"({"_meta":{)" + id + "}}");
  EXPECT_EQ(becomes(R"({"_META":{}})"), R"({"_meta":{)" + id + "}}");
}

TEST(Listens, an_update_reaches_listeners_of_the_resource_or_its_parent) {
  Stage stage;
  stage.from_server(updated("f:/a"));
  EXPECT_EQ(stage.up(), Lines{updated("f:/a")});  // the core knows which client it belongs to
  stage.from_client(listen("5", R"({"resourceSubscriptions":["f:/a","f:/c"]})"));
  stage.from_client(listen("6", R"({"resourceSubscriptions":["f:\/a"]})"));
  stage.up();
  stage.from_server(updated("f:/a"));
  EXPECT_EQ(stage.up(), (Lines{updated_for("f:/a", 5), updated_for("f:/a", 6)}));
  stage.from_server(updated("f:/c/d"));
  EXPECT_EQ(stage.up(), Lines{updated_for("f:/c/d", 5)});
  stage.from_server(updated("f:/cd"));
  EXPECT_EQ(stage.up(), Lines{updated("f:/cd")});
}

TEST(Listens, a_cancelled_listen_gets_no_response_and_the_last_one_unsubscribes) {
  Stage stage;
  stage.from_client(listen("5", R"({"resourceSubscriptions":["a","b"]})"));
  stage.from_client(listen("6", R"({"resourceSubscriptions":["a"]})"));
  stage.up();
  EXPECT_EQ(stage.down().size(), 2U);
  stage.from_client(cancellation("5", ""));
  EXPECT_EQ(stage.down(), Lines{subscription(3, "unsubscribe", "b")});
  stage.from_client(cancellation("6", ""));
  EXPECT_EQ(stage.down(), Lines{subscription(4, "unsubscribe", "a")});
  EXPECT_TRUE(stage.up().empty());
  EXPECT_TRUE(stage.facade.idle());
}

TEST(Listens, a_listen_without_a_filter_is_rejected) {
  Stage stage;
  stage.from_client(modern_request("5", "subscriptions/listen"));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32602");
  stage.from_client(listen("6", "[]"));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32602");
}

TEST(Listens, subscriptions_of_legacy_and_modern_clients_do_not_end_each_other) {
  Stage stage;
  const std::string on = R"({"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a"}})";
  const std::string off = R"({"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"a"}})";
  stage.from_client(on);
  EXPECT_EQ(stage.down(), Lines{on});
  stage.from_server(updated("a"));
  EXPECT_EQ(stage.up(), Lines{updated("a")});
  stage.from_client(listen("5", R"({"resourceSubscriptions":["a"]})"));
  stage.up();
  EXPECT_TRUE(stage.down().empty());
  stage.from_server(updated("a"));
  EXPECT_EQ(stage.up(), (Lines{updated_for("a", 5), updated("a")}));
  stage.from_client(off);
  EXPECT_EQ(stage.down(), (Lines{off, subscription(1, "subscribe", "a")}));
  stage.from_client(on);
  stage.down();
  stage.from_client(cancellation("5", ""));
  EXPECT_TRUE(stage.down().empty());
}

}  // namespace
}  // namespace mcpivot
