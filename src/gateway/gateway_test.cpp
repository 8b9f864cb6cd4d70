#include "gateway/gateway.h"

#include <gmock/gmock.h>

#include "fleet.h"
#include "life.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using simulation::Deed;
using testing::IsEmpty;

// A client and a guest, each with an instance of the server "alpha", in virtual time.
class TwoClients : public testing::Test {
 protected:
  TwoClients() {
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
  simulation::Life life{world, oracle, simulation::fleet_from("alpha=process,build,watch"), 1, numbers};
  int number = 0;
  int most_builds = 0;  // at once
};

TEST_F(TwoClients, have_an_instance_each) {
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

TEST_F(TwoClients, one_that_nobody_uses_follows_by_itself) {
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(3s);
  EXPECT_EQ(generation("alpha~g1"), 2);
}

TEST_F(TwoClients, one_that_works_follows_when_it_has_answered) {
  const int call = as_guest("call", "alpha", R"(work ,"after":2000)");
  pass(10ms);
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(1'500ms);
  EXPECT_EQ(generation("alpha~g1"), 1);
  pass(3s);
  EXPECT_TRUE(oracle.was_answered_well(call));
  EXPECT_EQ(generation("alpha~g1"), 2);
}

TEST_F(TwoClients, what_one_cannot_prove_the_other_is_spared) {
  next_start_fails("alpha");
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(5s);
  EXPECT_EQ(generation("alpha"), 1);
  EXPECT_EQ(generation("alpha~g1"), 1);
}

TEST_F(TwoClients, one_that_cannot_follow_still_serves) {
  next_start_fails("alpha~g1");
  act(Deed::control, "-", "pivot_rebuild {}");
  pass(300ms);
  const int call = as_guest("call", "alpha", "work");
  pass(500ms);
  EXPECT_TRUE(oracle.was_answered_well(call));
  EXPECT_EQ(generation("alpha~g1"), 1);
}

TEST_F(TwoClients, that_both_build_are_built_one_after_the_other) {
  act(Deed::control, "-", "pivot_rebuild {}");
  const int other = as_guest("control", "-", "pivot_rebuild {}");
  pass(5s);
  EXPECT_TRUE(oracle.was_answered(other));
  EXPECT_EQ(most_builds, 1);
}

TEST_F(TwoClients, a_save_is_built_once) {
  world.save("alpha");
  pass(5s);
  EXPECT_EQ(most_builds, 1);
  EXPECT_EQ(generation("alpha"), 2);
  EXPECT_EQ(generation("alpha~g1"), 2);
}

TEST_F(TwoClients, a_restart_of_one_is_no_concern_of_the_other) {
  act(Deed::control, "-", "pivot_restart {}");
  pass(5s);
  EXPECT_EQ(generation("alpha"), 2);
  EXPECT_EQ(generation("alpha~g1"), 1);
}

TEST_F(TwoClients, who_goes_leaves_nothing_behind) {
  act(Deed::part, "g1", "");
  pass(2s);
  EXPECT_EQ(world.alive(), 1);
  const int call = act(Deed::call, "alpha", "work");
  pass(100ms);
  EXPECT_TRUE(oracle.was_answered(call));
}

}  // namespace
}  // namespace mcpivot
