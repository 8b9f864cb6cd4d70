#include "server/stops.h"

#include <gmock/gmock.h>

#include "visitor.h"

namespace mcpivot {
namespace {

class StopsTest : public testing::Test {
 protected:
  Stops::Done caller() {
    return [this](const StopResult& result) { told.push_back(result); };
  }

  simulation::Visitor visitor{"alpha=process"};
  Stops stops{visitor.world()};
  Command command{.argv = {"/own/alpha"}, .cwd = {}, .env = {}};  // others may run it
  std::vector<StopResult> told;
};

TEST_F(StopsTest, every_caller_is_told_once_how_the_last_generation_ended) {
  stops.add(caller(), false);
  stops.add(caller(), false);
  stops.on_end(command, 10, "exited with code 0");
  stops.on_end(command, 11, "was killed by SIGKILL");
  stops.finish(command, [] {});
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].how, "it was killed by SIGKILL");
  EXPECT_THAT(told[1].pids, testing::ElementsAre(10, 11));
  EXPECT_FALSE(stops.wanted());
  stops.finish(command, [] {});
  EXPECT_EQ(told.size(), 2U);
}

TEST_F(StopsTest, generations_that_end_without_a_caller_are_not_counted) {
  stops.on_end(command, 10, "exited with code 0");
  stops.add(caller(), false);
  stops.finish(command, [] {});
  EXPECT_EQ(told.at(0).how, "it was not running");
  EXPECT_TRUE(told.at(0).pids.empty());
}

TEST_F(StopsTest, a_daemons_result_is_told_as_it_is) {
  stops.add(caller(), true);
  stops.on_end(command, 10, "disconnected");
  stops.finish_with({.ok = false, .how = "it refused", .pids = {}, .others = {}, .program = {}, .next = "n"});
  EXPECT_FALSE(told.at(0).ok);
  EXPECT_EQ(told.at(0).how, "it refused");
  EXPECT_FALSE(stops.is_ending_others());
}

TEST_F(StopsTest, callers_are_told_when_other_processes_have_ended) {
  bool went_on = false;
  stops.add(caller(), true);
  stops.finish(command, [&] { went_on = true; });
  EXPECT_TRUE(stops.is_ending_others());
  EXPECT_TRUE(told.empty());
  visitor.pass(std::chrono::seconds(1));
  EXPECT_EQ(told.at(0).others.size(), 1U);
  EXPECT_TRUE(went_on);
}

TEST_F(StopsTest, nobody_waits_for_other_processes_when_mcpivot_ends) {
  stops.give_up();
  stops.add(caller(), true);
  stops.finish(command, [] { FAIL(); });
  EXPECT_EQ(told.size(), 1U);
  EXPECT_FALSE(stops.is_ending_others());
}

}  // namespace
}  // namespace mcpivot
