#include "server/reload_rounds.h"

#include <gtest/gtest.h>

#include <utility>

#include "server/clients.h"

namespace mcpivot {
namespace {

using Step = ReloadRounds::Step;

class ReloadRoundsTest : public testing::Test {
 protected:
  Reload wants(const std::string& who, bool build, ReloadId id = ReloadId::none) {
    return {.build = build,
            .reason = who,
            .progress = {},
            .done = [this, who](const ReloadOutcome& outcome) { told_ += who + ":" + outcome.text + " "; },
            .id = id};
  }
  Step restart(const std::string& who) { return rounds_.join(wants(who, false), true, false); }
  Step rebuild(const std::string& who) { return rounds_.join(wants(who, true), true, false); }
  std::string told() { return std::exchange(told_, {}); }

  Clients clients_;
  ReloadRounds rounds_;
  std::string told_;
};

TEST_F(ReloadRoundsTest, a_caller_that_arrives_before_a_round_begins_joins_it) {
  EXPECT_EQ(restart("a"), Step::begin);
  EXPECT_EQ(rebuild("b"), Step::nothing);
  EXPECT_TRUE(rounds_.begin(true));
  EXPECT_FALSE(rounds_.end({true, "built"}));
  EXPECT_EQ(told(), "a:built b:built ");
  EXPECT_FALSE(rounds_.under_way());
}

TEST_F(ReloadRoundsTest, a_restart_during_a_build_waits_for_its_outcome) {
  EXPECT_EQ(rebuild("a"), Step::begin);
  EXPECT_TRUE(rounds_.begin(true));
  EXPECT_EQ(restart("b"), Step::nothing);
  EXPECT_FALSE(rounds_.end({true, "built"}));
  EXPECT_EQ(told(), "a:built b:built ");
}

TEST_F(ReloadRoundsTest, a_build_requested_during_a_build_is_the_next_round) {
  rebuild("a");
  rounds_.begin(true);
  EXPECT_EQ(rebuild("b"), Step::nothing);
  EXPECT_EQ(rebuild("c"), Step::nothing);
  EXPECT_TRUE(rounds_.end({true, "first"}));
  EXPECT_EQ(told(), "a:first ");
  EXPECT_EQ(rounds_.reason(), "b");
  EXPECT_TRUE(rounds_.begin(true));
  EXPECT_FALSE(rounds_.end({true, "second"}));
  EXPECT_EQ(told(), "b:second c:second ");
}

TEST_F(ReloadRoundsTest, if_saves_are_watched_a_request_joins_the_running_build) {
  rebuild("a");
  rounds_.begin(true);
  EXPECT_EQ(rounds_.join(wants("b", true), true, true), Step::nothing);
  EXPECT_FALSE(rounds_.end({true, "built"}));
  EXPECT_EQ(told(), "a:built b:built ");
}

TEST_F(ReloadRoundsTest, a_restart_during_a_birth_restarts_the_birth) {
  restart("a");
  EXPECT_FALSE(rounds_.begin(true));
  EXPECT_EQ(restart("b"), Step::bear);
  EXPECT_EQ(rebuild("c"), Step::build);
  EXPECT_EQ(rebuild("d"), Step::nothing) << "the build runs, and may miss what d wants built";
  rounds_.built();
  EXPECT_EQ(restart("e"), Step::bear);
  EXPECT_TRUE(rounds_.end({true, "one"}));
  EXPECT_EQ(told(), "a:one b:one c:one e:one ");
  EXPECT_EQ(rounds_.reason(), "d");
}

TEST_F(ReloadRoundsTest, without_a_build_command_no_caller_waits_for_a_build) {
  EXPECT_EQ(rounds_.join(wants("a", true), false, false), Step::begin);
  EXPECT_FALSE(rounds_.begin(false));
  EXPECT_EQ(rounds_.join(wants("b", true), false, false), Step::bear);
  EXPECT_FALSE(rounds_.end({true, "born"}));
  EXPECT_EQ(told(), "a:born b:born ");
}

TEST_F(ReloadRoundsTest, a_round_begun_by_a_notified_caller_comes_before_late_requests) {
  Reload again = wants("a", true);
  again.done = [this](const ReloadOutcome&) { EXPECT_EQ(restart("again"), Step::begin); };
  rounds_.join(std::move(again), true, false);
  rounds_.begin(true);
  rebuild("late");
  EXPECT_FALSE(rounds_.end({true, "first"}));
  EXPECT_EQ(rounds_.reason(), "again");
  EXPECT_FALSE(rounds_.begin(true));
  EXPECT_TRUE(rounds_.end({true, "second"}));
  EXPECT_EQ(told(), "again:second ");
  EXPECT_EQ(rounds_.reason(), "late");
}

TEST_F(ReloadRoundsTest, a_round_is_abandoned_when_every_caller_has_given_up) {
  const ReloadId a = clients_.next_reload(), b = clients_.next_reload();
  rounds_.join(wants("a", true, a), true, true);
  rounds_.join(wants("b", true, b), true, true);
  rounds_.begin(true);
  EXPECT_FALSE(rounds_.give_up(a));
  EXPECT_FALSE(rounds_.give_up(a)) << "one cannot give up for two";
  EXPECT_TRUE(rounds_.give_up(b));
  rounds_.join(wants("a save", true), true, true);
  EXPECT_FALSE(rounds_.give_up(b)) << "a save does not give up";
}

TEST_F(ReloadRoundsTest, earlier_cancellations_do_not_cancel_for_a_caller_that_joins_later) {
  const ReloadId a = clients_.next_reload(), b = clients_.next_reload();
  rounds_.join(wants("a", true, a), true, true);
  rounds_.join(wants("b", true, b), true, true);
  rounds_.begin(true);
  EXPECT_FALSE(rounds_.give_up(a));
  const ReloadId c = clients_.next_reload();
  rounds_.join(wants("c", true, c), true, true);
  EXPECT_FALSE(rounds_.give_up(b)) << "c still wants the build";
  EXPECT_TRUE(rounds_.give_up(c));
}

TEST_F(ReloadRoundsTest, a_caller_of_the_next_round_gives_up_only_that_one) {
  const ReloadId b = clients_.next_reload();
  rebuild("a");
  rounds_.begin(true);
  rounds_.join(wants("b", true, b), true, false);
  EXPECT_FALSE(rounds_.give_up(b));
  EXPECT_EQ(told(), "b:[mcpivot] cancelled before it began ");
  EXPECT_FALSE(rounds_.end({true, "built"})) << "there is no next round";
}

TEST_F(ReloadRoundsTest, without_a_next_round_every_caller_is_told_at_once) {
  rebuild("a");
  rounds_.begin(true);
  rebuild("late");
  rounds_.gather();
  EXPECT_FALSE(rounds_.end({false, "stopped"}));
  EXPECT_EQ(told(), "a:stopped late:stopped ");
}

TEST_F(ReloadRoundsTest, a_changed_server_is_checked_unless_it_was_accepted) {
  restart("a");
  EXPECT_FALSE(rounds_.wants_check()) << "it is the same program";
  Reload accepted = wants("b", false);
  accepted.changed = accepted.accepts = true;
  rounds_.join(std::move(accepted), true, false);
  EXPECT_FALSE(rounds_.wants_check());
  rebuild("c");
  EXPECT_TRUE(rounds_.wants_check()) << "there may be more in it now";
}

}  // namespace
}  // namespace mcpivot
