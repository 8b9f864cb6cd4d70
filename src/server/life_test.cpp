#include "server/life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Do = Life::Do;
using Facts = Life::Facts;
using Next = Life::Next;
using Round = Life::Round;

// --- lives in various states

const Facts plain{};
const Facts once{.overlaps = false};
const Facts daemon{.comes_and_goes = true};

Facts with(Facts facts, Round round) {
  facts.round = round;
  return facts;
}

Life after(std::initializer_list<Life::Event> events, const Facts& facts = plain) {
  Life life;
  for (const Life::Event& event : events) life.on(event, facts);
  return life;
}

Life starting(const Facts& facts = plain) {
  return after({Life::Wanted{"first start"}}, facts);
}
Life ready(const Facts& facts = plain) {
  return after({Life::Wanted{"first start"}, Life::Born{1}}, facts);
}
Life failed(const Facts& facts = plain) {
  return after({Life::Wanted{"first start"}, Life::BirthFailed{1, "it exited with code 1", true, "failed"}},
               facts);
}
Life reborn() {  // one is serving, and the next is starting
  Life life = ready();
  life.on(Life::RoundBegins{.builds = false, .renews = false, .reason = "on request"},
          with(plain, Round::bears));
  return life;
}
Life making_room() {
  Life life = ready(once);
  life.on(Life::RoundWaits{}, with(once, Round::waits));
  return life;
}
Life gone_for_room() {
  Life life = making_room();
  life.on(Life::Ended{}, with(once, Round::waits));
  return life;
}
Life waiting_for_room() {
  Facts others = once;
  others.others = true;
  return after({Life::Wanted{"first start"}}, others);
}
Life stopping() {
  Life life = ready();
  life.on(Life::Stop{"it was stopped on request", false}, plain);
  return life;
}
Life resting() {
  Life life = ready();
  life.on(Life::Rest{}, plain);
  return life;
}
Life leaving() {
  Life life = ready();
  life.on(Life::Retired{"it was taken out"}, plain);
  return life;
}

std::vector<Do> kinds(const Life::Effects& effects) {
  std::vector<Do> all;
  for (const Life::Effect& effect : effects) all.push_back(effect.what);
  return all;
}

template <class E>
std::vector<Do> does(Life& life, E event, const Facts& facts = plain) {
  return kinds(life.on(Life::Event(std::move(event)), facts));
}
std::vector<Do> follows(Life& life, const Facts& facts = plain) {
  return kinds(life.next(facts));
}

// --- births

TEST(Life, what_is_wanted_is_started_once) {
  Life life;
  EXPECT_THAT(does(life, Life::Wanted{"first start"}), ElementsAre(Do::start));
  EXPECT_TRUE(life.is<Life::Starting>());
  EXPECT_EQ(life.coming(), Next::birth);
  EXPECT_THAT(does(life, Life::Wanted{"again"}), IsEmpty());
  EXPECT_THAT(does(life, Life::Needed{}), IsEmpty());
}

TEST(Life, a_birth_that_succeeds_makes_it_ready) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::Born{1}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Ready>());
  EXPECT_EQ(life.coming(), Next::nothing);
  EXPECT_EQ(life.trouble(), "");
}

// --- checks

Life checking() {  // one serves, and the next is being checked
  Life life = reborn();
  life.on(Life::Born{2, true}, with(plain, Round::bears));
  return life;
}

TEST(Life, what_is_to_be_checked_is_checked_before_it_serves) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Born{2, true}, with(plain, Round::bears)), ElementsAre(Do::check));
  EXPECT_EQ(life.coming(), Next::check);
  EXPECT_TRUE(life.is<Life::Ready>()) << "the old one serves";
  EXPECT_THAT(does(life, Life::Needed{}), IsEmpty());
  EXPECT_THAT(does(life, Life::Checked{1}), IsEmpty()) << "of another birth";
  EXPECT_EQ(life.coming(), Next::check);
  EXPECT_THAT(does(life, Life::Checked{2}, with(plain, Round::bears)), IsEmpty());
  EXPECT_EQ(life.coming(), Next::nothing);
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, what_was_never_checked_is_not_taken_for_it) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Checked{2, true, "held"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_EQ(life.coming(), Next::birth);
}

TEST(Life, one_that_is_held_ends_and_the_old_one_serves_on) {
  Life life = checking();
  EXPECT_EQ(life.on(Life::Checked{2, true, "2 differ"}, with(plain, Round::bears)),
            (Life::Effects{{Do::end_birth, ""}, {Do::fail_round, "2 differ"}}));
  EXPECT_TRUE(life.is<Life::Ready>());
  EXPECT_EQ(life.coming(), Next::nothing);
  EXPECT_THAT(follows(life), IsEmpty()) << "it is not tried again by itself";
}

TEST(Life, who_waits_for_a_build_is_not_told_of_the_one_before_that_is_held) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::Checked{2, true, "2 differ"}, with(plain, Round::builds)),
              ElementsAre(Do::end_birth));
}

TEST(Life, where_nothing_serves_any_more_nothing_is_held) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::Lost{"it was killed"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_EQ(life.coming(), Next::check);
  EXPECT_THAT(does(life, Life::Checked{2, true, "2 differ"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, one_that_dies_during_its_check_has_failed_and_the_old_one_serves_on) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::BirthFailed{2, "it was killed", true, "words"}, with(plain, Round::bears)),
              ElementsAre(Do::fail_round));
  EXPECT_TRUE(life.is<Life::Ready>());
  EXPECT_EQ(life.coming(), Next::nothing);
}

TEST(Life, a_check_ends_with_what_it_checks) {
  for (const Life::Event& event :
       {Life::Event(Life::Stop{"stopped", false}), Life::Event(Life::Configured{}),
        Life::Event(Life::Retired{"taken out"}), Life::Event(Life::Farewell{"mcpivot ends"})}) {
    Life life = checking();
    EXPECT_THAT(kinds(life.on(event, with(plain, Round::bears))), testing::Contains(Do::end_birth));
    EXPECT_EQ(life.coming(), Next::nothing);
    EXPECT_THAT(does(life, Life::Checked{2}, with(plain, Round::bears)), IsEmpty());
  }
}

TEST(Life, a_reload_during_a_check_starts_another_one) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::RoundBegins{.builds = false, .renews = false, .reason = "on request"},
                   with(plain, Round::bears)),
              ElementsAre(Do::end_birth, Do::start));
  EXPECT_EQ(life.coming(), Next::birth);
}

TEST(Life, a_server_that_says_no_is_not_asked_again_before_somebody_needs_it) {
  Life life = starting(daemon);
  EXPECT_EQ(
      life.on(Life::BirthFailed{1, "it answered 401", true, "words", true}, daemon),
      (Life::Effects{{Do::fail_round, "words"}, {Do::settle, ""}, {Do::refuse_waiting, "it answered 401"}}));
  EXPECT_TRUE(life.is_refused());
  EXPECT_EQ(life.shown(), Life::Shown::failed);
  EXPECT_THAT(follows(life, daemon), IsEmpty());
  EXPECT_THAT(does(life, Life::Needed{}, daemon), ElementsAre(Do::start));
  EXPECT_EQ(life.trouble(), "it answered 401");
  EXPECT_THAT(does(life, Life::BirthFailed{2, "it answered 401", true, "words", true}, daemon),
              ElementsAre(Do::fail_round, Do::settle, Do::refuse_waiting));
  EXPECT_THAT(follows(life, daemon), IsEmpty());
}

TEST(Life, what_came_while_a_server_that_said_no_was_being_stopped_is_the_next_try) {
  Life life = starting(daemon);
  life.on(Life::BirthFailed{1, "it answered 401", true, "words", true}, daemon);
  Facts asked = daemon;
  asked.asked = true;
  asked.blocked = true;
  EXPECT_THAT(does(life, Life::Needed{}, asked), IsEmpty());
  EXPECT_THAT(follows(life, asked), IsEmpty());
  asked.blocked = false;
  EXPECT_THAT(follows(life, asked), ElementsAre(Do::start));
}

TEST(Life, who_waits_for_a_build_is_not_told_what_the_last_server_said) {
  Life life = starting(daemon);
  EXPECT_THAT(
      does(life, Life::BirthFailed{1, "it answered 401", true, "words", true}, with(daemon, Round::builds)),
      ElementsAre(Do::settle));
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(daemon, Round::bears)), ElementsAre(Do::renew));
}

TEST(Life, one_that_said_no_and_is_away_now_is_looked_for_as_usual) {
  Life life = starting(daemon);
  life.on(Life::BirthFailed{1, "it answered 401", true, "words", true}, daemon);
  life.on(Life::Needed{}, daemon);
  EXPECT_THAT(does(life, Life::BirthFailed{2, "it cannot be reached", true, "words"}, daemon),
              ElementsAre(Do::fail_round, Do::settle, Do::back_off));
  EXPECT_FALSE(life.is_refused());
}

TEST(Life, a_first_birth_that_fails_is_told_and_tried_again) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}),
              ElementsAre(Do::fail_round, Do::settle, Do::back_off));
  EXPECT_TRUE(life.is<Life::Failed>());
  EXPECT_EQ(life.trouble(), "it exited");
  EXPECT_THAT(does(life, Life::Due{"after a crash"}), ElementsAre(Do::start));
  EXPECT_THAT(std::string(life.trouble()), HasSubstr("last time it exited"));
}

TEST(Life, a_birth_that_fails_beside_one_that_serves_changes_nothing) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::BirthFailed{2, "it exited", true, "words"}, with(plain, Round::bears)),
              ElementsAre(Do::fail_round));
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, who_waits_for_a_build_is_not_told_of_a_birth_that_failed_meanwhile) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}, with(plain, Round::builds)),
              ElementsAre(Do::settle, Do::back_off));
}

TEST(Life, what_came_of_a_birth_that_was_given_up_is_ignored) {
  Life life = starting();
  does(life, Life::Stop{"stopped", false});
  EXPECT_THAT(does(life, Life::Born{1}), IsEmpty());
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}), IsEmpty());
  EXPECT_THAT(does(life, Life::BirthPostponed{1, "soon"}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Stopped>());
}

TEST(Life, what_came_of_a_birth_that_another_replaced_is_ignored) {
  Life life = starting();
  does(life, Life::RoundBegins{false, false, "on request"}, with(plain, Round::bears));
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}), IsEmpty());
  EXPECT_THAT(does(life, Life::Born{1}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Starting>());
  does(life, Life::Born{2});
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_postponed_birth_is_no_failure_and_keeps_its_reason) {
  Life life = starting(daemon);
  EXPECT_EQ(life.on(Life::BirthPostponed{1, "it is being started: make up"}, daemon),
            (Life::Effects{{Do::look_again, "first start"}}));
  EXPECT_TRUE(life.is<Life::Starting>());
  EXPECT_EQ(life.trouble(), "it is being started: make up");
}

// --- requests while nothing is serving

TEST(Life, a_request_starts_what_is_stopped) {
  Life life;
  EXPECT_THAT(does(life, Life::Needed{}), ElementsAre(Do::start));
}

TEST(Life, what_cannot_run_twice_is_started_for_a_request_that_still_waits_when_there_is_room) {
  Facts others{.overlaps = false, .asked = true, .others = true};
  Life life;
  EXPECT_THAT(does(life, Life::Needed{}, others), IsEmpty());
  EXPECT_THAT(follows(life, once), IsEmpty());  // it was cancelled meanwhile
  others.others = false;
  EXPECT_THAT(follows(life, others), ElementsAre(Do::start));
}

TEST(Life, a_request_waits_for_the_next_try_of_what_failed) {
  Life life = failed();
  EXPECT_THAT(does(life, Life::Needed{}), IsEmpty());
}

TEST(Life, a_request_tries_at_once_what_never_ran) {
  Life life = after({Life::Wanted{"first start"}, Life::BirthFailed{1, "no such file", false, "words"}});
  EXPECT_THAT(does(life, Life::Needed{}), ElementsAre(Do::cancel_back_off, Do::start));
}

TEST(Life, a_request_looks_at_once_for_what_comes_and_goes) {
  Life life = failed(daemon);
  EXPECT_THAT(does(life, Life::Needed{}, daemon), ElementsAre(Do::cancel_back_off, Do::start));
  EXPECT_TRUE(life.is<Life::Failed>()) << "that it is tried is no news";
}

TEST(Life, a_request_does_not_start_what_somebody_waits_to_see_stopped) {
  Life life;
  Facts facts;
  facts.stop_wanted = true;
  EXPECT_THAT(does(life, Life::Needed{}, facts), IsEmpty());
}

TEST(Life, what_came_while_it_stopped_starts_it_when_it_has) {
  Life life = stopping();
  Facts facts;
  facts.asked = true;
  EXPECT_THAT(follows(life, facts), IsEmpty());
  does(life, Life::Ended{}, facts);
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::start));
}

TEST(Life, requests_that_wait_are_released_when_somebody_serves) {
  Life life = ready();
  Facts facts;
  facts.asked = true;
  EXPECT_THAT(follows(life, facts), IsEmpty());
  facts.serves = true;
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::release));
}

// --- reloads

TEST(Life, a_reload_is_born_beside_what_serves) {
  Life life = ready();
  EXPECT_THAT(does(life, Life::RoundWaits{}, with(plain, Round::waits)), IsEmpty());
  EXPECT_THAT(follows(life, with(plain, Round::waits)), ElementsAre(Do::begin_round));
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, with(plain, Round::bears)),
              ElementsAre(Do::start));
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_reload_during_a_birth_begins_it_again) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, with(plain, Round::bears)),
              ElementsAre(Do::end_birth, Do::start));
}

TEST(Life, a_session_that_is_being_made_is_new_enough) {
  Life life = starting(daemon);
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, with(daemon, Round::bears)),
              ElementsAre(Do::join_birth));
}

TEST(Life, what_cannot_run_twice_makes_room_before_the_round_begins) {
  Life life = ready(once);
  EXPECT_THAT(does(life, Life::RoundWaits{}, with(once, Round::waits)), ElementsAre(Do::end_current));
  EXPECT_EQ(life.trouble(), "a new generation takes its place");
  EXPECT_THAT(follows(life, with(once, Round::waits)), IsEmpty());
  does(life, Life::Ended{}, with(once, Round::waits));
  EXPECT_TRUE(life.is<Life::Starting>());
  EXPECT_THAT(follows(life, with(once, Round::waits)), ElementsAre(Do::begin_round));
}

TEST(Life, what_cannot_run_twice_waits_for_the_last_of_its_generations) {
  Facts others = with(once, Round::bears);
  others.others = true;
  Life life = gone_for_room();
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, others), IsEmpty());
  EXPECT_EQ(life.coming(), Next::room);
  EXPECT_THAT(follows(life, others), IsEmpty());
  EXPECT_EQ(life.next(with(once, Round::bears)), (Life::Effects{{Do::start, "on request"}}));
}

TEST(Life, what_may_no_longer_run_twice_makes_room_after_its_build) {
  Life life = ready();
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(once, Round::bears)), ElementsAre(Do::end_current));
  EXPECT_EQ(life.coming(), Next::room);
  does(life, Life::Ended{}, with(once, Round::bears));
  EXPECT_THAT(follows(life, with(once, Round::bears)), ElementsAre(Do::start));
}

TEST(Life, a_build_ends_a_birth_of_the_old_code) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(plain, Round::bears)),
              ElementsAre(Do::end_birth, Do::start));
}

TEST(Life, a_daemon_is_renewed_after_its_build) {
  Life life = ready(daemon);
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(daemon, Round::bears)), ElementsAre(Do::renew));
}

TEST(Life, a_renewal_ends_the_session_that_is_being_made) {
  Life life = starting(daemon);
  EXPECT_THAT(does(life, Life::RoundBegins{false, true, "after a change"}, with(daemon, Round::bears)),
              ElementsAre(Do::end_birth, Do::renew));
  Life waits = failed(daemon);
  EXPECT_THAT(does(waits, Life::RoundBegins{false, true, "after a change"}, with(daemon, Round::bears)),
              ElementsAre(Do::cancel_back_off, Do::renew));
}

TEST(Life, nothing_is_born_while_its_daemon_is_being_stopped) {
  Life life;
  Facts held = daemon;
  held.blocked = true;
  EXPECT_THAT(does(life, Life::Needed{}, held), IsEmpty());
  EXPECT_THAT(does(life, Life::Due{"reconnected"}, held), IsEmpty());
  EXPECT_THAT(does(life, Life::Due{"reconnected"}, daemon), ElementsAre(Do::start));
}

TEST(Life, one_that_was_stopped_is_starting_while_it_is_built) {
  Life life;
  EXPECT_THAT(does(life, Life::RoundBegins{true, false, "on request"}, with(plain, Round::builds)),
              ElementsAre(Do::build));
  EXPECT_EQ(life.shown(), Life::Shown::starting);
  EXPECT_THAT(does(life, Life::Needed{}, with(plain, Round::builds)), ElementsAre(Do::start))
      << "what is there serves until the build is done";
}

TEST(Life, after_a_failed_build_the_last_good_one_is_started) {
  Life life = gone_for_room();
  EXPECT_THAT(does(life, Life::BuildFailed{"words"}, with(once, Round::builds)), ElementsAre(Do::fail_round));
  EXPECT_THAT(follows(life, once), ElementsAre(Do::start));
}

TEST(Life, nothing_is_born_during_a_build_of_what_cannot_run_twice) {
  Life life = gone_for_room();
  EXPECT_THAT(does(life, Life::Needed{}, with(once, Round::builds)), IsEmpty());
}

// --- ends

TEST(Life, what_is_lost_is_started_again) {
  Life life = ready();
  EXPECT_THAT(does(life, Life::Lost{"it was killed by SIGSEGV"}), ElementsAre(Do::back_off));
  EXPECT_TRUE(life.is<Life::Starting>());
}

TEST(Life, what_is_lost_while_the_next_is_being_born_waits_for_that) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Lost{"it was killed by SIGSEGV"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_TRUE(life.is<Life::Starting>());
}

TEST(Life, a_stop_ends_what_runs_and_all_that_was_to_come) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Stop{"stopped", false}, with(plain, Round::builds)),
              ElementsAre(Do::stop_build, Do::end_birth, Do::give_up_round, Do::end_current, Do::end_others,
                          Do::settle));
  EXPECT_EQ(life.coming(), Next::nothing);
  EXPECT_EQ(life.shown(), Life::Shown::stopped);
  does(life, Life::Ended{});
  EXPECT_EQ(life.get<Life::Stopped>()->why, Life::Stopped::Why::on_request);
}

TEST(Life, a_stop_of_what_failed_ends_the_tries) {
  Life life = failed();
  EXPECT_THAT(
      does(life, Life::Stop{"stopped", false}),
      ElementsAre(Do::cancel_back_off, Do::stop_build, Do::give_up_round, Do::end_others, Do::settle));
  EXPECT_TRUE(life.is<Life::Stopped>());
}

TEST(Life, a_stop_of_a_daemon_does_not_wait_for_our_session) {
  Life life = ready(daemon);
  EXPECT_THAT(
      does(life, Life::Stop{"stopped", true}, daemon),
      ElementsAre(Do::stop_build, Do::give_up_round, Do::detach_current, Do::settle, Do::stop_daemon));
  EXPECT_TRUE(life.is<Life::Stopped>());
}

TEST(Life, who_wanted_it_stopped_is_told_when_nothing_of_it_stops_any_more) {
  Life life = stopping();
  Facts facts;
  facts.stop_wanted = facts.stops = true;
  EXPECT_THAT(follows(life, facts), IsEmpty());
  does(life, Life::Ended{}, facts);
  facts.stops = false;
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::tell_stopped));
}

TEST(Life, a_stop_counts_though_it_was_resting_or_making_room) {
  Life rests = resting();
  EXPECT_THAT(does(rests, Life::Stop{"stopped", false}),
              ElementsAre(Do::stop_build, Do::give_up_round, Do::end_others, Do::settle));
  does(rests, Life::Ended{});
  EXPECT_EQ(rests.get<Life::Stopped>()->why, Life::Stopped::Why::on_request);
  Life makes_room = making_room();
  does(makes_room, Life::Stop{"stopped", false}, with(once, Round::waits));
  does(makes_room, Life::Ended{}, once);
  EXPECT_TRUE(makes_room.is<Life::Stopped>());
}

TEST(Life, what_nobody_needs_rests) {
  Life life = resting();
  EXPECT_EQ(life.shown(), Life::Shown::stopped);
  does(life, Life::Ended{});
  EXPECT_EQ(life.get<Life::Stopped>()->why, Life::Stopped::Why::unneeded);
  EXPECT_THAT(follows(life), IsEmpty());
}

TEST(Life, only_one_that_serves_rests) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::Rest{}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Starting>());
}

TEST(Life, what_is_being_replaced_does_not_rest) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Rest{}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_reload_while_it_rests_begins_when_it_has_ended) {
  Life life = resting();
  EXPECT_THAT(does(life, Life::RoundWaits{}, with(plain, Round::waits)), IsEmpty());
  EXPECT_THAT(follows(life, with(plain, Round::waits)), IsEmpty());
  does(life, Life::Ended{}, with(plain, Round::waits));
  EXPECT_THAT(follows(life, with(plain, Round::waits)), ElementsAre(Do::begin_round));
}

TEST(Life, another_configuration_ends_a_birth_of_the_old_one) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::Configured{}), ElementsAre(Do::end_birth));
}

TEST(Life, another_configuration_leaves_a_start_that_waits_for_room_as_it_is) {
  Life life = waiting_for_room();
  EXPECT_THAT(does(life, Life::Configured{}), IsEmpty());
  EXPECT_EQ(life.coming(), Next::room);
}

TEST(Life, another_configuration_does_not_forget_a_start_that_waits_for_the_end_of_a_rest) {
  Life life = ready();
  does(life, Life::Rest{});
  does(life, Life::Wanted{"it was activated"});
  ASSERT_EQ(life.coming(), Next::room);
  EXPECT_THAT(does(life, Life::Configured{}), IsEmpty());
  EXPECT_EQ(life.coming(), Next::room);
  does(life, Life::Ended{});
  EXPECT_THAT(follows(life), ElementsAre(Do::start));
}

TEST(Life, one_that_is_taken_out_finishes_its_calls_and_nothing_more) {
  Life life = ready();
  EXPECT_THAT(
      does(life, Life::Retired{"it was taken out"}),
      ElementsAre(Do::stop_build, Do::refuse_waiting, Do::give_up_round, Do::drain_current, Do::settle));
  EXPECT_THAT(does(life, Life::Wanted{"again"}), IsEmpty());
  EXPECT_THAT(does(life, Life::Needed{}), IsEmpty());
  EXPECT_THAT(does(life, Life::Due{"after a crash"}), IsEmpty());
  EXPECT_THAT(follows(life), IsEmpty());
  Facts empty;
  empty.empty = true;
  EXPECT_THAT(follows(life, empty), ElementsAre(Do::tell_gone));
}

TEST(Life, the_end_of_mcpivot_ends_all_of_it) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Farewell{"mcpivot is shutting down"}, with(plain, Round::bears)),
              ElementsAre(Do::stop_build, Do::end_birth, Do::refuse_waiting, Do::give_up_round, Do::settle,
                          Do::end_current, Do::end_others));
  does(life, Life::Ended{});
  EXPECT_EQ(life.trouble(), "mcpivot is shutting down");
}

TEST(Life, one_that_leaves_is_not_stopped_built_or_born) {
  Life life = leaving();
  EXPECT_THAT(does(life, Life::Stop{"stopped", false}), IsEmpty());
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_THAT(does(life, Life::Lost{"it was killed"}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Leaving>());
}

TEST(Life, mcpivot_may_end_while_it_leaves) {
  Life life = leaving();
  EXPECT_THAT(does(life, Life::Farewell{"mcpivot is shutting down"}),
              ElementsAre(Do::stop_build, Do::refuse_waiting, Do::give_up_round, Do::settle, Do::end_current,
                          Do::end_others));
}

TEST(Life, what_is_wanted_while_it_goes_to_rest_is_started_when_it_has) {
  Life life = resting();
  EXPECT_THAT(does(life, Life::Wanted{"it was activated"}), IsEmpty());
  EXPECT_THAT(follows(life), IsEmpty());
  does(life, Life::Ended{});
  EXPECT_EQ(life.next(plain), (Life::Effects{{Do::start, "it was activated"}}));
}

TEST(Life, a_stop_is_told_though_it_leaves) {
  Life life = leaving();
  Facts facts;
  facts.stop_wanted = true;
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::tell_stopped));
}

}  // namespace
}  // namespace mcpivot
