#include "bridge/upstream_listen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using Verdict = UpstreamListen::Verdict;

struct Listener final : UpstreamListen::Owner {
  void send_listen(std::string_view line) override { sent.emplace_back(line); }
  void on_listening(const ListenFilter&, const ListenFilter& honours, bool) override {
    honoured = honours;
    ++acknowledged;
  }
  void on_refused(const ListenFilter&, bool, int code, std::string_view why) override {
    refusals.push_back(fmt::format("{} {}", code, why));
  }

  void wake_listen(std::chrono::milliseconds after) override { pauses.push_back(after.count()); }

  std::vector<std::string> sent, refusals;
  std::vector<std::int64_t> pauses;  // after which it asked to be woken
  ListenFilter honoured;
  int acknowledged = 0;
};

Verdict hear(UpstreamListen& listen, std::string_view method, std::string_view id) {
  const std::string line = fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/{}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{{"toolsListChanged":true}}}}}})",
      method, id);
  return listen.from_server(*read_message(line));
}

TEST(UpstreamListen, two_listens_on_one_connection_use_different_ids) {
  Listener one, other;
  UpstreamListen a(one), b(other, 1'000);
  a.want({.tools = true}, R"("x":1)");
  b.want({.prompts = true}, "");
  EXPECT_EQ(
      one.sent.at(0),
      R"({"jsonrpc":"2.0","id":"listen-1","method":"subscriptions/listen","params":{"_meta":{"x":1},"notifications":{"toolsListChanged":true}}})");
  EXPECT_EQ(find_member(other.sent.at(0), "id"), "1001");
  hear(b, "subscriptions/acknowledged", R"("listen-1")");
  EXPECT_EQ(other.acknowledged, 0);
  hear(a, "subscriptions/acknowledged", R"("listen-1")");
  EXPECT_EQ(one.acknowledged, 1);
  EXPECT_TRUE(one.honoured.tools);
  EXPECT_EQ(hear(a, "tools/list_changed", R"("listen-1")"), Verdict::pass);
  EXPECT_EQ(hear(b, "tools/list_changed", R"("listen-1")"), Verdict::foreign);
  EXPECT_EQ(b.from_server(*read_message(R"({"jsonrpc":"2.0","id":"listen-1","result":{}})")),
            Verdict::foreign);
  EXPECT_EQ(a.from_server(*read_message(R"({"jsonrpc":"2.0","id":"listen-1","result":{}})")), Verdict::done);
  EXPECT_FALSE(b.lost(R"("listen-1")"));
}

TEST(UpstreamListen, leaves_messages_without_a_subscription_to_others) {
  Listener owner;
  UpstreamListen listen(owner);
  for (const std::string_view line :
       {R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"})
    EXPECT_EQ(listen.from_server(*read_message(line)), Verdict::foreign) << line;
}

TEST(UpstreamListen, sends_nothing_when_the_same_is_wanted_again) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({}, "");
  EXPECT_TRUE(owner.sent.empty());
  listen.want({.tools = true}, "");
  listen.want({.tools = true}, "");
  EXPECT_EQ(owner.sent.size(), 1U);
  hear(listen, "subscriptions/acknowledged", R"("listen-1")");
  listen.want({.tools = true}, "");
  for (int i = 0; i < 100; ++i) listen.expire();
  EXPECT_EQ(owner.sent.size(), 1U);
}

TEST(UpstreamListen, the_old_listen_is_cancelled_only_once_the_new_one_is_acknowledged) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  hear(listen, "subscriptions/acknowledged", R"("listen-1")");
  listen.want({.tools = true, .prompts = true}, "");
  EXPECT_EQ(owner.sent.size(), 2U);
  hear(listen, "subscriptions/acknowledged", R"("listen-2")");
  ASSERT_EQ(owner.sent.size(), 3U);
  EXPECT_EQ(find_member(find_member(owner.sent[2], "params"), "requestId"), R"("listen-1")");
}

TEST(UpstreamListen, the_new_listen_takes_over_from_an_old_one_that_already_ended) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  hear(listen, "subscriptions/acknowledged", R"("listen-1")");
  listen.want({.tools = true, .prompts = true}, "");
  listen.from_server(*read_message(R"({"jsonrpc":"2.0","id":"listen-1","result":{}})"));
  for (int i = 0; i < 10; ++i) listen.expire();
  EXPECT_EQ(owner.sent.size(), 2U);  // the new one has been sent
  hear(listen, "subscriptions/acknowledged", R"("listen-2")");
  EXPECT_EQ(owner.sent.size(), 2U);
  EXPECT_EQ(owner.acknowledged, 2);
}

TEST(UpstreamListen, a_new_listen_that_is_lost_is_opened_again_while_the_old_one_stays) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  hear(listen, "subscriptions/acknowledged", R"("listen-1")");
  listen.want({.tools = true, .prompts = true}, "");
  for (std::size_t i = 2; i <= 4; ++i) {
    EXPECT_TRUE(listen.lost(fmt::format(R"("listen-{}")", i)));
    EXPECT_EQ(hear(listen, "tools/list_changed", R"("listen-1")"), Verdict::pass);
    listen.wake();
    EXPECT_EQ(owner.sent.size(), i + 1);
  }
  EXPECT_EQ(owner.pauses, (std::vector<std::int64_t>{1'000, 2'000, 4'000}));
  hear(listen, "subscriptions/acknowledged", R"("listen-5")");
  ASSERT_EQ(owner.sent.size(), 6U);
  EXPECT_EQ(find_member(find_member(owner.sent[5], "params"), "requestId"), R"("listen-1")");
}

TEST(UpstreamListen, a_new_listen_that_is_rejected_is_tried_again_when_the_server_is_used) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  hear(listen, "subscriptions/acknowledged", R"("listen-1")");
  listen.want({.tools = true, .prompts = true}, "");
  listen.from_server(
      *read_message(R"({"jsonrpc":"2.0","id":"listen-2","error":{"code":-32603,"message":"no"}})"));
  EXPECT_TRUE(owner.pauses.empty());
  listen.use();
  EXPECT_EQ(owner.sent.size(), 3U);
}

TEST(UpstreamListen, a_rejected_resource_that_was_given_up_needs_no_other_listen) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  hear(listen, "subscriptions/acknowledged", R"("listen-1")");
  listen.want({.tools = true, .prompts = false, .resources = false, .uris = {"file:///x"}}, "");
  EXPECT_TRUE(listen.lost(R"("listen-2")"));
  listen.give_up("file:///x");
  listen.wake();
  for (int i = 0; i < 100; ++i) listen.use();
  EXPECT_EQ(owner.sent.size(), 2U);
}

TEST(UpstreamListen, a_listen_that_lasted_is_opened_again_soon) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  for (std::size_t i = 1; i <= 5; ++i) {
    hear(listen, "subscriptions/acknowledged", fmt::format(R"("listen-{}")", i));
    listen.wake();
    EXPECT_TRUE(listen.lost(fmt::format(R"("listen-{}")", i)));
    listen.expire();
    EXPECT_EQ(owner.sent.size(), i + 1);
  }
}

TEST(UpstreamListen, reopening_a_listen_that_keeps_ending_backs_off_up_to_30_seconds) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  std::vector<std::int64_t> pauses;
  for (std::size_t i = 1; i <= 8; ++i) {
    const std::string id = fmt::format(R"("listen-{}")", i);
    hear(listen, "subscriptions/acknowledged", id);
    listen.from_server(*read_message(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", id)));
    EXPECT_EQ(owner.sent.size(), i) << "not at once";
    pauses.push_back(owner.pauses.back());
    listen.wake();
    EXPECT_EQ(owner.sent.size(), i + 1);
  }
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{1'000, 2'000, 4'000, 8'000, 16'000, 30'000, 30'000, 30'000}));
}

TEST(UpstreamListen, a_listen_that_stays_up_for_30_seconds_resets_the_back_off) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  for (const char* id : {R"("listen-1")", R"("listen-2")", R"("listen-3")"}) {
    hear(listen, "subscriptions/acknowledged", id);
    if (owner.sent.size() == 3) {
      EXPECT_EQ(owner.pauses.back(), 30'000);
      listen.wake();
    }
    EXPECT_TRUE(listen.lost(id));
    if (owner.sent.size() < 3) listen.wake();
  }
  EXPECT_EQ(owner.pauses.back(), 1'000);
}

TEST(UpstreamListen, a_rejected_listen_is_not_retried_by_a_timer) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  listen.from_server(
      *read_message(R"({"jsonrpc":"2.0","id":"listen-1","error":{"code":-32603,"message":"no"}})"));
  EXPECT_TRUE(owner.pauses.empty());
  listen.wake();  // asked for before the refusal
  EXPECT_EQ(owner.sent.size(), 1U);
  listen.use();
  EXPECT_EQ(owner.sent.size(), 2U);
}

TEST(UpstreamListen, a_listen_that_is_no_longer_wanted_is_not_reopened) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  hear(listen, "subscriptions/acknowledged", R"("listen-1")");
  EXPECT_TRUE(listen.lost(R"("listen-1")"));
  listen.want({}, "");
  listen.wake();
  EXPECT_EQ(owner.sent.size(), 1U);
}

TEST(UpstreamListen, a_rejection_includes_the_reason) {
  Listener owner;
  UpstreamListen listen(owner);
  listen.want({.tools = true}, "");
  listen.from_server(*read_message(
      R"({"jsonrpc":"2.0","id":"listen-1","error":{"code":-32601,"message":"no \"such\" thing"}})"));
  EXPECT_EQ(owner.refusals, std::vector<std::string>{R"(-32601 no "such" thing)"});
  EXPECT_FALSE(listen.supported());
}

}  // namespace
}  // namespace mcpivot
