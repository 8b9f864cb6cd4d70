#include "server/reload_rounds.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

class ReloadRoundsTest : public testing::Test {
 protected:
  Reload wants(std::string who, bool build) {
    return {.build = build, .reason = who, .progress = {}, .done = [this, who](const ReloadOutcome& outcome) {
              told_ += who + ":" + outcome.text + " ";
            }};
  }
  std::string told() { return std::exchange(told_, {}); }

  ReloadRounds rounds_;
  std::string told_;
};

TEST_F(ReloadRoundsTest, who_comes_before_the_build_joins_the_round) {
  EXPECT_TRUE(rounds_.join(wants("a", false), true));
  EXPECT_FALSE(rounds_.join(wants("b", true), true));
  EXPECT_FALSE(rounds_.begun());
  EXPECT_TRUE(rounds_.begin(true));
  EXPECT_FALSE(rounds_.join(wants("c", true), true));
  EXPECT_FALSE(rounds_.end({true, "built"}));
  EXPECT_EQ(told(), "a:built b:built c:built ");
  EXPECT_FALSE(rounds_.under_way());
}

TEST_F(ReloadRoundsTest, a_build_that_comes_too_late_gets_the_next_round) {
  EXPECT_TRUE(rounds_.join(wants("a", false), true));
  EXPECT_FALSE(rounds_.begin(true));
  EXPECT_FALSE(rounds_.join(wants("b", true), true));
  EXPECT_FALSE(rounds_.join(wants("c", false), true));
  EXPECT_TRUE(rounds_.end({true, "plain"}));
  EXPECT_EQ(told(), "a:plain c:plain ");
  EXPECT_EQ(rounds_.reason(), "b");
  EXPECT_TRUE(rounds_.begin(true));
  EXPECT_FALSE(rounds_.end({true, "built"}));
  EXPECT_EQ(told(), "b:built ");
}

TEST_F(ReloadRoundsTest, without_a_build_command_nobody_waits_for_a_build) {
  EXPECT_TRUE(rounds_.join(wants("a", true), false));
  EXPECT_FALSE(rounds_.begin(false));
  EXPECT_FALSE(rounds_.join(wants("b", true), false));
  EXPECT_FALSE(rounds_.end({true, "plain"}));
  EXPECT_EQ(told(), "a:plain b:plain ");
}

TEST_F(ReloadRoundsTest, a_round_that_is_begun_by_whom_it_tells_goes_before_those_who_came_late) {
  Reload again = wants("a", false);
  again.done = [this](const ReloadOutcome&) { EXPECT_TRUE(rounds_.join(wants("again", false), true)); };
  EXPECT_TRUE(rounds_.join(std::move(again), true));
  EXPECT_FALSE(rounds_.begin(true));
  EXPECT_FALSE(rounds_.join(wants("late", true), true));
  EXPECT_FALSE(rounds_.end({true, "first"}));
  EXPECT_EQ(rounds_.reason(), "again");
  EXPECT_FALSE(rounds_.begin(true));
  EXPECT_TRUE(rounds_.end({true, "second"}));
  EXPECT_EQ(told(), "again:second ");
  EXPECT_EQ(rounds_.reason(), "late");
}

TEST_F(ReloadRoundsTest, it_is_given_up_when_everybody_has) {
  rounds_.join(wants("a", true), true);
  rounds_.join(wants("b", true), true);
  rounds_.begin(true);
  EXPECT_FALSE(rounds_.give_up_one());
  EXPECT_TRUE(rounds_.give_up_one());
}

TEST_F(ReloadRoundsTest, if_there_is_no_next_round_everybody_is_told_at_once) {
  rounds_.join(wants("a", false), true);
  rounds_.begin(true);
  rounds_.join(wants("late", true), true);
  rounds_.gather();
  EXPECT_FALSE(rounds_.end({false, "stopped"}));
  EXPECT_EQ(told(), "a:stopped late:stopped ");
}

}  // namespace
}  // namespace mcpivot
