// What an instance does with calls, edits and losses while it follows another one, rests, or was stopped.
#include "gateway/shared_fixture.h"

namespace mcpivot {
namespace {

using simulation::Birth;
using testing::Contains;
using testing::HasSubstr;

constexpr std::size_t most_subscriptions = Replay::most_subscriptions;

// Ann and Bob, each with an instance of the server "alpha".
class OwnServers : public SharedServer {
 protected:
  void SetUp() override { open("alpha=process,build,watch"); }

  // Ann's instance has shown that the server changed; Bob's follows at its next call.
  void let_bob_fall_behind() {
    ann->instance().reload(
        {.build = true, .reason = "on request", .progress = {}, .done = [](const ReloadOutcome&) {}});
    pass(200ms);
    ASSERT_EQ(ann->instance().status().life->generation, 2);
    ASSERT_EQ(bob->instance().status().life->generation, 1);
  }
  std::ptrdiff_t place_of(const Client& client, std::string_view id) {
    const std::string answer = client.answer_to(id);
    return std::ranges::find(client.heard, answer) - client.heard.begin();
  }
  void stop(Client& client) {
    client.ask("tools/call", R"({"name":"pivot_restart","arguments":{"stop":true}})");
  }
};

TEST_F(OwnServers, queue_calls_in_order_while_they_follow_a_new_generation) {
  let_bob_fall_behind();
  world.scripts().of("alpha").births.push_back(Birth::slow);
  const std::string first = bob->start_call();
  pass(10ms);
  const std::string second = bob->start_call();
  pass(100ms);
  EXPECT_EQ(bob->answer_to(first), "");
  EXPECT_EQ(bob->answer_to(second), "") << "the old generation answered it";
  pass(2s);
  EXPECT_THAT(bob->answer_to(first), HasSubstr("canary-bob"));
  EXPECT_THAT(bob->answer_to(second), HasSubstr("canary-bob"));
  EXPECT_LT(place_of(*bob, first), place_of(*bob, second));
  EXPECT_EQ(bob->instance().status().life->generation, 2);
}

TEST_F(OwnServers, that_cannot_follow_in_time_answer_with_the_old_generation) {
  let_bob_fall_behind();
  world.scripts().of("alpha").births.push_back(Birth::hangs);
  const std::string first = bob->start_call();
  pass(10ms);
  const std::string second = bob->start_call();
  pass(2'100ms);  // queue_timeout
  EXPECT_THAT(bob->answer_to(first), HasSubstr("canary-bob"));
  EXPECT_THAT(bob->answer_to(second), HasSubstr("canary-bob"));
  EXPECT_LT(place_of(*bob, first), place_of(*bob, second));
  EXPECT_EQ(bob->instance().status().life->generation, 1);
  pass(5s);
}

// --- stopped

TEST_F(OwnServers, that_were_stopped_are_not_started_by_an_unrelated_edit) {
  stop(*ann);
  ASSERT_EQ(world.alive(), 1);
  GatewayConfig config = simulation::fleet_from("alpha=process,build,watch");
  config.pivot_call = CallThrough::active;
  gateway->configure(config);
  pass(5s);
  EXPECT_EQ(world.alive(), 1);
}

TEST_F(OwnServers, that_were_stopped_are_not_built_for_a_save_before_an_edit) {
  stop(*ann);
  stop(*bob);
  ASSERT_EQ(world.alive(), 0);
  world.save("alpha");
  gateway->configure(simulation::fleet_from("alpha=process,build,watch,v:2"));
  pass(1ms);
  EXPECT_EQ(world.builds(), 0);
  pass(5s);
  EXPECT_EQ(world.alive(), 0);
}

// --- lost

TEST_F(OwnServers, that_rest_are_started_to_retry_a_call_that_an_old_session_lost) {
  ann.reset();
  bob.reset();
  open("alpha=daemon");
  ann->start_call(R"(,"do":"hang")");  // so the old session drains for a while
  ann->tool = "look";
  const std::string lost = ann->start_call(R"(,"after":300,"do":"lose")");
  pass(50ms);
  ann->instance().reload({.reason = "on request", .progress = {}, .done = [](const ReloadOutcome&) {}});
  pass(100ms);
  ASSERT_EQ(ann->instance().status().life->generation, 2);
  ann->instance().rest();
  pass(100ms);
  ASSERT_EQ(ann->instance().state(), Instance::State::stopped);
  pass(150ms);
  EXPECT_EQ(ann->instance().status().life->generation, 3);
  pass(5s);
}

// --- subscriptions

TEST_F(OwnServers, limit_the_subscriptions_of_a_client) {
  const auto subscribe = [this](std::size_t number) {
    return ann->send("resources/subscribe", fmt::format(R"({{"uri":"sim://alpha/{}"}})", number));
  };
  for (std::size_t i = 0; i < most_subscriptions; ++i) subscribe(i);
  pass(1s);
  EXPECT_EQ(ann->instance().memory(ann->id()).subscriptions.size(), most_subscriptions);
  const std::string again = subscribe(0);
  const std::string one_more = subscribe(most_subscriptions);
  pass(1s);
  EXPECT_THAT(ann->answer_to(again), HasSubstr(R"("result":{})"));
  EXPECT_THAT(ann->answer_to(one_more), HasSubstr("already 4096 subscriptions"));
  EXPECT_EQ(ann->instance().memory(ann->id()).subscriptions.size(), most_subscriptions);
  ann->ask("resources/unsubscribe", R"({"uri":"sim://alpha/0"})");
  const std::string instead = subscribe(most_subscriptions);
  pass(1s);
  EXPECT_THAT(ann->answer_to(instead), HasSubstr(R"("result":{})"));
}

// --- notifications that wait

struct Dropped final : Observer {
  void saw(const Seen& seen) override {
    if (seen.what == Seen::What::dropped) lines.push_back(fmt::format("{}: {}", seen.line(), seen.why));
  }
  std::vector<std::string> lines;
};

class HangingServer : public SharedServer {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i) world.scripts().of("alpha").births.push_back(Birth::hangs);
    open("alpha=process");
    clients.observe(dropped, world.timers(), false);
    ann->notify("notifications/of_ann");
  }
  Dropped dropped;
};

TEST_F(HangingServer, reports_a_notification_that_waited_too_long) {
  pass(2'100ms);  // queue_timeout
  EXPECT_THAT(dropped.lines, Contains(testing::AllOf(HasSubstr("of_ann"), HasSubstr("waited 2"))));
}

TEST_F(HangingServer, reports_notifications_dropped_by_a_stop) {
  ann->ask("tools/call", R"({"name":"pivot_restart","arguments":{"stop":true}})");
  EXPECT_THAT(dropped.lines, Contains(testing::AllOf(HasSubstr("of_ann"), HasSubstr("stopped on request"))));
}

TEST_F(HangingServer, reports_notifications_dropped_by_its_removal) {
  gateway->configure(simulation::fleet_from("beta=process"));
  pass(10ms);
  EXPECT_THAT(dropped.lines, Contains(testing::AllOf(HasSubstr("of_ann"), HasSubstr("removed"))));
}

}  // namespace
}  // namespace mcpivot
