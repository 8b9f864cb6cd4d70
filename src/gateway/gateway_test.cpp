#include "gateway/gateway.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fleet.h"
#include "life.h"
#include "rpc/answers.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using simulation::Deed;
using testing::IsEmpty;

// A client and a guest, each with an instance of the server "alpha", in virtual time.
class TwoClients : public testing::Test {
 protected:
  explicit TwoClients(const char* fleet = "alpha=process,build,watch")
      : life(world, oracle, simulation::fleet_from(fleet), 1, numbers, visits) {
    act(Deed::hello, "-", "2025-06-18");
    act(Deed::ready, "-", "");
    act(Deed::ask, "-", "tools/list");
    as_guest("ask", "-", "tools/list");
    pass(50ms);
  }
  ~TwoClients() override { EXPECT_THAT(oracle.broken(), IsEmpty()); }

  int act(Deed deed, const std::string& server, const std::string& text) {
    life.act({.at = 0, .deed = deed, .server = server, .number = ++number, .text = text});
    return number;
  }
  int as_guest(const std::string& deed, const std::string& server, const std::string& text) {
    return act(Deed::guest, server, "g1 " + deed + " " + text);
  }
  void pass(std::chrono::milliseconds time) {
    const auto until = world.timers().now() + time;
    while (world.timers().step(until)) most_builds = std::max(most_builds, world.builds());
  }
  const mcpivot::History& past(const std::string& server) {
    static mcpivot::Status status;
    status = life.find(server)->instance().status();
    return status.past;
  }
  int generation(const std::string& server) {
    const auto life_of = life.find(server)->instance().status().life;
    return life_of ? life_of->generation : 0;
  }
  void next_start_fails(const std::string& server) {
    world.scripts().of(server).births.push_back(simulation::Birth::rejects);
  }

  simulation::SimWorld world{1, oracle};
  simulation::Oracle oracle{world.timers()};
  simulation::Life::Numbers numbers;
  simulation::Visits visits;
  simulation::Life life;
  int number = 0;
  int most_builds = 0;  // at the same time
};

TEST_F(TwoClients, each_have_their_own_instance) {
  EXPECT_EQ(world.alive(), 2);
  EXPECT_NE(life.find("alpha")->instance().id(), life.find("alpha~g1")->instance().id());
}

TEST_F(TwoClients, a_build_of_one_reaches_the_other_at_its_next_call) {
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(300ms);
  EXPECT_EQ(generation("alpha"), 2);
  EXPECT_EQ(generation("alpha~g1"), 1) << "nobody has used it since";
  const int call = as_guest("call", "alpha", "work");
  pass(100ms);
  EXPECT_TRUE(oracle.was_answered_well(call));
  EXPECT_EQ(generation("alpha~g1"), 2);
}

TEST_F(TwoClients, an_idle_instance_follows_by_itself) {
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(3s);
  EXPECT_EQ(generation("alpha~g1"), 2);
}

TEST_F(TwoClients, a_busy_instance_follows_once_it_has_answered) {
  const int call = as_guest("call", "alpha", R"(work ,"after":2000)");
  pass(10ms);
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(1'500ms);
  EXPECT_EQ(generation("alpha~g1"), 1);
  pass(3s);
  EXPECT_TRUE(oracle.was_answered_well(call));
  EXPECT_EQ(generation("alpha~g1"), 2);
}

TEST_F(TwoClients, a_build_that_fails_for_one_is_not_tried_by_the_other) {
  next_start_fails("alpha");
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(5s);
  EXPECT_EQ(past("alpha").builds, 1);
  EXPECT_EQ(past("alpha").starts, 2);
  EXPECT_EQ(generation("alpha"), 1);
  EXPECT_EQ(generation("alpha~g1"), 1);
}

TEST_F(TwoClients, an_instance_that_cannot_follow_still_serves) {
  next_start_fails("alpha~g1");
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(300ms);
  const int call = as_guest("call", "alpha", "work");
  pass(500ms);
  EXPECT_TRUE(oracle.was_answered_well(call));
  EXPECT_EQ(past("alpha~g1").starts, 2);
  EXPECT_EQ(generation("alpha~g1"), 1);
}

TEST_F(TwoClients, builds_requested_by_both_run_one_after_the_other) {
  act(Deed::control, "-", "pivot_rebuild {}");
  const int other = as_guest("control", "-", "pivot_rebuild {}");
  pass(5s);
  EXPECT_TRUE(oracle.was_answered(other));
  EXPECT_EQ(most_builds, 1);
  EXPECT_EQ(past("alpha").builds, 1);
  EXPECT_EQ(past("alpha~g1").builds, 1);
  EXPECT_EQ(generation("alpha"), 3) << "its own, and the other's";
  EXPECT_EQ(generation("alpha~g1"), 2) << "what it built itself is the newest";
}

TEST_F(TwoClients, a_save_is_built_once) {
  world.save("alpha");
  pass(5s);
  EXPECT_EQ(past("alpha").builds + past("alpha~g1").builds, 1);
  EXPECT_EQ(generation("alpha"), 2);
  EXPECT_EQ(generation("alpha~g1"), 2);
}

TEST_F(TwoClients, a_save_is_built_by_the_other_if_the_first_leaves) {
  const int call = as_guest("call", "alpha", "work");  // it was used last, so it tries out the change
  pass(10ms);
  EXPECT_TRUE(oracle.was_answered_well(call));
  world.save("alpha");
  pass(30ms);
  act(Deed::part, "g1", "");
  pass(3s);
  EXPECT_EQ(generation("alpha"), 2);
}

TEST_F(TwoClients, a_stopped_instance_that_fell_behind_stays_stopped) {
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(300ms);
  as_guest("control", "-", R"(pivot_restart {"stop":true})");
  pass(5s);
  EXPECT_EQ(generation("alpha~g1"), 0);
  EXPECT_EQ(world.alive(), 1);
}

TEST_F(TwoClients, a_restart_of_one_does_not_affect_the_other) {
  act(Deed::control, "-", "pivot_restart {}");
  pass(5s);
  EXPECT_EQ(generation("alpha"), 2);
  EXPECT_EQ(generation("alpha~g1"), 1);
}

TEST_F(TwoClients, a_departed_client_leaves_nothing_behind) {
  act(Deed::part, "g1", "");
  pass(2s);
  EXPECT_EQ(world.alive(), 1);
  const int call = act(Deed::call, "alpha", "work");
  pass(100ms);
  EXPECT_TRUE(oracle.was_answered(call));
}

// A client with a bit of everything: settings, activations, a pending notice, a task, a question.
class RichClient : public TwoClients {
 protected:
  RichClient() : TwoClients("alpha=process,replay,build beta=process,active gamma=daemon") {
    act(Deed::ask, "-", R"(logging/setLevel {"level":"info"})");
    act(Deed::control, "-", R"(pivot_activate {"server":"alpha"})");
    pass(50ms);
    act(Deed::ask, "-", R"(resources/subscribe {"uri":"sim://alpha/one"})");
    act(Deed::through, "alpha", "again");
    act(Deed::through, "alpha", "work +task");
    act(Deed::through, "beta", R"(work ,"do":"ask")");
    pass(200ms);
    act(Deed::kill, "beta", "");
    pass(200ms);
  }
  Desk& desk() { return life.seated().front().desk; }
};

TEST_F(RichClient, has_the_same_state_after_being_stored_and_loaded) {
  const ClientState state = desk().state();
  EXPECT_NE(state.hello, "");
  EXPECT_NE(state.level, "");
  EXPECT_NE(state.notices, "");
  const ClientState::OfServer& alpha = state.servers.at("alpha");
  EXPECT_TRUE(alpha.active);
  EXPECT_NE(alpha.replay.log_level, "");
  EXPECT_EQ(alpha.replay.subscriptions.size(), 1);
  EXPECT_EQ(alpha.replay.calls.size(), 1);
  EXPECT_EQ(alpha.tasks.size(), 1);
  const auto again = client_state_from(to_json(state));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, state);
}

TEST_F(RichClient, continues_at_a_desk_restored_from_its_stored_state) {
  ClientState state = desk().state();
  state.questions.clear();  // the servers that asked them are gone
  Clients clients;
  Gateway gateway(world, clients,
                  simulation::fleet_from("alpha=process,replay,build beta=process,active gamma=daemon"));
  Desk& next = gateway.open();
  next.restore(*client_state_from(to_json(state)));
  EXPECT_TRUE(next.shaken());
  EXPECT_EQ(next.state(), state);
  next.start();
  pass(1s);
  EXPECT_EQ(next.fleet().members().front()->instance().state(), Instance::State::ready)
      << "it shakes hands without the client";
  EXPECT_EQ(next.state().servers, state.servers);
  const std::string task = state.servers.at("alpha").tasks.front();
  const std::string fetch = request_line("1", "tasks/result", fmt::format(R"({{"taskId":{}}})", task));
  next.request({.client = next.client()}, *read_message(fetch));
  pass(1s);
  EXPECT_THAT(next.state().servers.at("alpha").tasks, IsEmpty()) << "its result was fetched";
}

}  // namespace
}  // namespace mcpivot
