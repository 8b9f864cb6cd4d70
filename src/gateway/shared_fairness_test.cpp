// No client of a shared server can keep the others waiting: it has its share of the server's concurrent
// calls, and of the room in which requests wait.
#include "gateway/shared_fixture.h"

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::size_t share = 32;  // half of the calls that a process is assumed to handle at once

class SharedFairly : public SharedServer {
 protected:
  std::vector<std::string> start_calls(Client& client, std::size_t count, const std::string& how) {
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(client.start_call(how));
    pass(50ms);
    return ids;
  }
  static std::size_t answered(const Client& client, const std::vector<std::string>& ids) {
    return static_cast<std::size_t>(
        std::ranges::count_if(ids, [&](const auto& id) { return !client.answer_to(id).empty(); }));
  }
  // Nothing is serving, so requests wait.
  void hang() {
    world.scripts().of("alpha").births.push_back(simulation::Birth::hangs);
    world.each_life("alpha", [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
    pass(100ms);
  }
};

TEST_F(SharedFairly, a_clients_calls_beyond_its_share_wait_for_its_others) {
  const auto ids = start_calls(*ann, 100, R"(,"after":500)");
  EXPECT_THAT(sent("tools/call"), SizeIs(share));
  EXPECT_EQ(ann->instance().status().waiting, 100 - share);
  const std::string of_bob = bob->start_call();
  pass(50ms);
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr("canary-bob")) << "it doesn't wait for them";
  pass(2s);
  EXPECT_EQ(answered(*ann, ids), 100U);
  EXPECT_THAT(sent("tools/call"), SizeIs(101)) << "each once";
}

TEST_F(SharedFairly, waiting_calls_are_sent_in_order) {
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i)
    ids.push_back(ann->send(
        "tools/call",
        fmt::format(R"({{"name":"work","arguments":{{"n":{},"canary":"canary-ann","after":100}}}})", i)));
  pass(2s);
  const std::vector<std::string> calls = sent("tools/call");
  ASSERT_THAT(calls, SizeIs(40));
  for (std::size_t i = 0; i < calls.size(); ++i)
    EXPECT_THAT(calls[i], HasSubstr(fmt::format(R"("n":{},)", i)));
}

TEST_F(SharedFairly, a_waiting_call_can_be_cancelled) {
  start_calls(*ann, share, R"(,"after":500)");
  const std::string id = ann->start_call();
  ann->cancel(id);
  pass(2s);
  EXPECT_EQ(ann->answer_to(id), "");
  EXPECT_THAT(sent("tools/call"), SizeIs(share));
}

TEST_F(SharedFairly, a_call_that_waits_too_long_is_answered_with_the_reason) {
  start_calls(*ann, share, R"(,"do":"hang")");
  const std::string id = ann->start_call();
  pass(3s);
  EXPECT_THAT(ann->answer_to(id), AllOf(HasSubstr("waited 2.5 s for its turn"), HasSubstr("was not sent")));
}

TEST_F(SharedFairly, waiting_calls_move_to_the_next_generation) {
  const auto ids = start_calls(*ann, share, R"(,"do":"hang")");
  const std::string id = ann->start_call();
  kill();
  pass(1s);
  EXPECT_EQ(answered(*ann, ids), share);
  EXPECT_THAT(ann->answer_to(id), HasSubstr("@alpha#0."));
}

TEST_F(SharedFairly, waiting_calls_go_to_a_new_generation_as_soon_as_it_serves) {
  GatewayConfig slow = simulation::fleet_from("alpha=process,shared,replay");
  slow.servers.front().server.call_timeout = slow.servers.front().server.drain = 60s;
  gateway->configure(slow);
  pass(1s);
  start_calls(*ann, share, R"(,"do":"hang")");
  const std::string id = ann->start_call();
  bob->ask("tools/call", R"({"name":"pivot_restart","arguments":{}})");
  EXPECT_THAT(ann->answer_to(id), HasSubstr("canary-ann")) << "the old one works on her other calls";
}

TEST_F(SharedFairly, waiting_calls_are_answered_when_the_server_is_stopped) {
  const auto ids = start_calls(*ann, share + 8, R"(,"do":"hang")");
  bob->ask("tools/call", R"({"name":"pivot_restart","arguments":{"stop":true}})");
  pass(3s);
  EXPECT_EQ(answered(*ann, ids), share + 8);
  EXPECT_EQ(world.alive(), 0) << "they must not start it again";
}

TEST_F(SharedFairly, waiting_calls_of_a_departed_client_are_not_sent) {
  start_calls(*ann, share + 8, R"(,"after":500)");
  ann->leave();
  pass(2s);
  EXPECT_THAT(sent("tools/call"), SizeIs(share));
  EXPECT_THAT(bob->call(), HasSubstr("canary-bob"));
}

TEST_F(SharedFairly, a_full_waiting_room_makes_room_for_a_client_that_uses_less) {
  hang();
  const auto ids = start_calls(*ann, WaitingRoom::most_waiting, "");
  EXPECT_EQ(answered(*ann, ids), 0U);
  const std::string one_more = ann->start_call();
  pass(1ms);
  EXPECT_THAT(ann->answer_to(one_more), HasSubstr("1024 requests wait"));
  const std::string of_bob = bob->start_call();
  pass(1ms);
  EXPECT_EQ(bob->answer_to(of_bob), "") << "it waits";
  EXPECT_EQ(answered(*ann, ids), 1U);
  EXPECT_THAT(ann->answer_to(ids.back()), HasSubstr("1024 requests wait")) << "her latest made way";
  world.each_life("alpha", [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
  pass(1500ms);
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr("canary-bob"));
}

TEST_F(SharedFairly, calls_that_waited_for_a_start_are_not_sent_all_at_once) {
  hang();
  start_calls(*ann, 200, R"(,"after":500)");
  const std::string of_bob = bob->start_call();
  world.each_life("alpha", [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
  for (int i = 0; i < 100 && sent("tools/call").empty(); ++i) pass(20ms);
  pass(20ms);
  EXPECT_THAT(sent("tools/call"), SizeIs(share + 1));
  pass(50ms);
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr("canary-bob"));
}

TEST_F(SharedFairly, a_call_whose_turn_comes_after_a_restart_continues_in_its_generation) {
  const std::string arguments =
      R"("name":"work","arguments":{"n":7,"canary":"canary-ann","do":"urls","after":1})";
  const std::string first = ann->send_modern("tools/call", arguments);
  pass(50ms);
  const std::string asked = ann->answer_to(first);
  const std::string_view state = find_member(find_member(asked, "result"), "requestState");
  ASSERT_NE(state, "") << asked;
  start_calls(*ann, share, R"(,"after":1000)");
  const std::string second = ann->send_modern(
      "tools/call",
      fmt::format(R"({},"requestState":{},"inputResponses":{{"elicitation-1":{{"action":"accept"}}}})",
                  arguments, state));
  pass(50ms);
  ASSERT_EQ(ann->answer_to(second), "") << "it waits for its turn";
  ann->instance().reload({.reason = "on request", .progress = {}, .done = [](const ReloadOutcome&) {}});
  pass(1500ms);
  EXPECT_THAT(ann->answer_to(second), HasSubstr("@alpha#7."));
}

TEST_F(SharedFairly, a_server_that_asks_and_reads_nothing_gets_no_more_answers) {
  ann->start_call(R"(,"do":"deaf","after":600000)");
  pass(50ms);
  const auto position = [&] {
    std::uint64_t sum = 0;
    world.each_life("alpha", [&](SimBackend& life) { sum += life.link().position(); });
    return sum;
  };
  for (int i = 0; i < 100; ++i) blurt("questions");
  const auto before = position();
  EXPECT_GT(before, simulation::Wire::overflow);
  blurt("questions");
  EXPECT_EQ(position(), before);
}

TEST_F(SharedFairly, a_slow_server_is_told_the_first_and_the_last_of_many_log_levels) {
  for (int i = 0; i < 100; ++i)
    ann->send("logging/setLevel", i % 2 == 0 ? R"({"level":"info"})" : R"({"level":"debug"})");
  pass(500ms);
  EXPECT_THAT(sent("logging/setLevel"), testing::ElementsAre(HasSubstr("info"), HasSubstr("debug")));
}

TEST_F(SharedFairly, one_clients_tasks_do_not_displace_anothers) {
  const auto begin = [&](Client& client, std::string_view canary, int n) {
    client.send(
        "tools/call",
        fmt::format(R"({{"name":"work","arguments":{{"n":{},"canary":"{}"}},"task":{{"ttl":60000}}}})", n,
                    canary));
    pass(5ms);
  };
  begin(*bob, "canary-bob", 5000);
  for (int n = 0; n < 1100; ++n) begin(*ann, "canary-ann", n);
  EXPECT_THAT(bob->ask("tasks/get", R"({"taskId":"alpha-1-5000"})"), HasSubstr("working"));
}

}  // namespace
}  // namespace mcpivot
