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
Life reborn() {  // one generation is serving, and the next is starting
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

TEST(Life, a_wanted_server_is_started_once) {
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

Life checking() {  // one generation is serving, and the next is being checked
  Life life = reborn();
  life.on(Life::Born{2, true}, with(plain, Round::bears));
  return life;
}

TEST(Life, a_generation_to_be_checked_is_checked_before_it_serves) {
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

TEST(Life, the_result_of_a_check_that_never_began_is_ignored) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Checked{2, true, "held"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_EQ(life.coming(), Next::birth);
}

TEST(Life, a_held_generation_ends_and_the_old_one_keeps_serving) {
  Life life = checking();
  EXPECT_EQ(life.on(Life::Checked{2, true, "2 differ"}, with(plain, Round::bears)),
            (Life::Effects{{Do::end_birth, ""}, {Do::fail_round, "2 differ"}}));
  EXPECT_TRUE(life.is<Life::Ready>());
  EXPECT_EQ(life.coming(), Next::nothing);
  EXPECT_THAT(follows(life), IsEmpty()) << "it is not tried again by itself";
}

TEST(Life, a_caller_waiting_for_a_build_is_not_told_about_an_older_held_one) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::Checked{2, true, "2 differ"}, with(plain, Round::builds)),
              ElementsAre(Do::end_birth));
}

TEST(Life, a_generation_is_not_held_if_no_other_one_serves) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::Lost{"it was killed"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_EQ(life.coming(), Next::check);
  EXPECT_THAT(does(life, Life::Checked{2, true, "2 differ"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_generation_that_dies_during_its_check_fails_and_the_old_one_serves) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::BirthFailed{2, "it was killed", true, "words"}, with(plain, Round::bears)),
              ElementsAre(Do::fail_round));
  EXPECT_TRUE(life.is<Life::Ready>());
  EXPECT_EQ(life.coming(), Next::nothing);
}

TEST(Life, a_check_ends_with_its_generation) {
  for (const Life::Event& event :
       {Life::Event(Life::Stop{"stopped", false}), Life::Event(Life::Configured{}),
        Life::Event(Life::Retired{"taken out"}), Life::Event(Life::Farewell{"mcpivot ends"})}) {
    Life life = checking();
    EXPECT_THAT(kinds(life.on(event, with(plain, Round::bears))), testing::Contains(Do::end_birth));
    EXPECT_EQ(life.coming(), Next::nothing);
    EXPECT_THAT(does(life, Life::Checked{2}, with(plain, Round::bears)), IsEmpty());
  }
}

TEST(Life, a_reload_during_a_check_starts_another_generation) {
  Life life = checking();
  EXPECT_THAT(does(life, Life::RoundBegins{.builds = false, .renews = false, .reason = "on request"},
                   with(plain, Round::bears)),
              ElementsAre(Do::end_birth, Do::start));
  EXPECT_EQ(life.coming(), Next::birth);
}

TEST(Life, a_server_that_refuses_us_is_retried_only_for_a_request) {
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

TEST(Life, a_request_during_the_stop_of_a_server_that_refused_us_retries_it_afterwards) {
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

TEST(Life, a_caller_waiting_for_a_build_is_not_told_about_the_old_servers_refusal) {
  Life life = starting(daemon);
  EXPECT_THAT(
      does(life, Life::BirthFailed{1, "it answered 401", true, "words", true}, with(daemon, Round::builds)),
      ElementsAre(Do::settle));
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(daemon, Round::bears)), ElementsAre(Do::renew));
}

TEST(Life, a_server_that_refused_us_and_then_went_away_is_polled_as_usual) {
  Life life = starting(daemon);
  life.on(Life::BirthFailed{1, "it answered 401", true, "words", true}, daemon);
  life.on(Life::Needed{}, daemon);
  EXPECT_THAT(does(life, Life::BirthFailed{2, "it cannot be reached", true, "words"}, daemon),
              ElementsAre(Do::fail_round, Do::settle, Do::back_off));
  EXPECT_FALSE(life.is_refused());
}

TEST(Life, a_failed_first_birth_is_reported_and_retried) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}),
              ElementsAre(Do::fail_round, Do::settle, Do::back_off));
  EXPECT_TRUE(life.is<Life::Failed>());
  EXPECT_EQ(life.trouble(), "it exited");
  EXPECT_THAT(does(life, Life::Due{"after a crash"}), ElementsAre(Do::start));
  EXPECT_THAT(std::string(life.trouble()), HasSubstr("last time it exited"));
}

TEST(Life, a_failed_birth_does_not_affect_the_serving_generation) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::BirthFailed{2, "it exited", true, "words"}, with(plain, Round::bears)),
              ElementsAre(Do::fail_round));
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_caller_waiting_for_a_build_is_not_told_about_an_older_failed_birth) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}, with(plain, Round::builds)),
              ElementsAre(Do::settle, Do::back_off));
}

TEST(Life, the_outcome_of_an_abandoned_birth_is_ignored) {
  Life life = starting();
  does(life, Life::Stop{"stopped", false});
  EXPECT_THAT(does(life, Life::Born{1}), IsEmpty());
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}), IsEmpty());
  EXPECT_THAT(does(life, Life::BirthPostponed{1, "soon"}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Stopped>());
}

TEST(Life, the_outcome_of_a_replaced_birth_is_ignored) {
  Life life = starting();
  does(life, Life::RoundBegins{false, false, "on request"}, with(plain, Round::bears));
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}), IsEmpty());
  EXPECT_THAT(does(life, Life::Born{1}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Starting>());
  does(life, Life::Born{2});
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_postponed_birth_is_not_a_failure_and_keeps_its_reason) {
  Life life = starting(daemon);
  EXPECT_EQ(life.on(Life::BirthPostponed{1, "it is being started: make up"}, daemon),
            (Life::Effects{{Do::look_again, "first start"}}));
  EXPECT_TRUE(life.is<Life::Starting>());
  EXPECT_EQ(life.trouble(), "it is being started: make up");
}

// --- requests while nothing is serving

TEST(Life, a_request_starts_a_stopped_server) {
  Life life;
  EXPECT_THAT(does(life, Life::Needed{}), ElementsAre(Do::start));
}

TEST(Life, a_request_starts_a_server_that_cannot_run_twice_once_there_is_room) {
  Facts others{.overlaps = false, .asked = true, .others = true};
  Life life;
  EXPECT_THAT(does(life, Life::Needed{}, others), IsEmpty());
  EXPECT_THAT(follows(life, once), IsEmpty());  // it was cancelled meanwhile
  others.others = false;
  EXPECT_THAT(follows(life, others), ElementsAre(Do::start));
}

TEST(Life, a_request_waits_for_the_next_retry_of_a_failed_server) {
  Life life = failed();
  EXPECT_THAT(does(life, Life::Needed{}), IsEmpty());
}

TEST(Life, a_request_immediately_retries_a_server_that_never_ran) {
  Life life = after({Life::Wanted{"first start"}, Life::BirthFailed{1, "no such file", false, "words"}});
  EXPECT_THAT(does(life, Life::Needed{}), ElementsAre(Do::cancel_back_off, Do::start));
}

TEST(Life, a_request_immediately_retries_a_daemon) {
  Life life = failed(daemon);
  EXPECT_THAT(does(life, Life::Needed{}, daemon), ElementsAre(Do::cancel_back_off, Do::start));
  EXPECT_TRUE(life.is<Life::Failed>()) << "that it is tried is no news";
}

TEST(Life, a_request_does_not_start_a_server_while_a_caller_waits_for_its_stop) {
  Life life;
  Facts facts;
  facts.stop_wanted = true;
  EXPECT_THAT(does(life, Life::Needed{}, facts), IsEmpty());
}

TEST(Life, a_request_during_a_stop_starts_the_server_afterwards) {
  Life life = stopping();
  Facts facts;
  facts.asked = true;
  EXPECT_THAT(follows(life, facts), IsEmpty());
  does(life, Life::Ended{}, facts);
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::start));
}

TEST(Life, waiting_requests_are_released_once_a_generation_serves) {
  Life life = ready();
  Facts facts;
  facts.asked = true;
  EXPECT_THAT(follows(life, facts), IsEmpty());
  facts.serves = true;
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::release));
}

// --- reloads

TEST(Life, a_reload_starts_a_generation_next_to_the_serving_one) {
  Life life = ready();
  EXPECT_THAT(does(life, Life::RoundWaits{}, with(plain, Round::waits)), IsEmpty());
  EXPECT_THAT(follows(life, with(plain, Round::waits)), ElementsAre(Do::begin_round));
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, with(plain, Round::bears)),
              ElementsAre(Do::start));
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_reload_during_a_birth_restarts_it) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, with(plain, Round::bears)),
              ElementsAre(Do::end_birth, Do::start));
}

TEST(Life, a_reload_joins_a_session_that_is_being_opened) {
  Life life = starting(daemon);
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, with(daemon, Round::bears)),
              ElementsAre(Do::join_birth));
}

TEST(Life, a_server_that_cannot_run_twice_ends_before_its_reload_begins) {
  Life life = ready(once);
  EXPECT_THAT(does(life, Life::RoundWaits{}, with(once, Round::waits)), ElementsAre(Do::end_current));
  EXPECT_EQ(life.trouble(), "a new generation takes its place");
  EXPECT_THAT(follows(life, with(once, Round::waits)), IsEmpty());
  does(life, Life::Ended{}, with(once, Round::waits));
  EXPECT_TRUE(life.is<Life::Starting>());
  EXPECT_THAT(follows(life, with(once, Round::waits)), ElementsAre(Do::begin_round));
}

TEST(Life, a_server_that_cannot_run_twice_waits_for_its_last_generation_to_end) {
  Facts others = with(once, Round::bears);
  others.others = true;
  Life life = gone_for_room();
  EXPECT_THAT(does(life, Life::RoundBegins{false, false, "on request"}, others), IsEmpty());
  EXPECT_EQ(life.coming(), Next::room);
  EXPECT_THAT(follows(life, others), IsEmpty());
  EXPECT_EQ(life.next(with(once, Round::bears)), (Life::Effects{{Do::start, "on request"}}));
}

TEST(Life, a_server_that_may_no_longer_run_twice_ends_after_its_build) {
  Life life = ready();
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(once, Round::bears)), ElementsAre(Do::end_current));
  EXPECT_EQ(life.coming(), Next::room);
  does(life, Life::Ended{}, with(once, Round::bears));
  EXPECT_THAT(follows(life, with(once, Round::bears)), ElementsAre(Do::start));
}

TEST(Life, a_finished_build_ends_a_birth_of_the_old_code) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(plain, Round::bears)),
              ElementsAre(Do::end_birth, Do::start));
}

TEST(Life, a_daemon_is_renewed_after_its_build) {
  Life life = ready(daemon);
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(daemon, Round::bears)), ElementsAre(Do::renew));
}

TEST(Life, a_renewal_abandons_a_session_that_is_being_opened) {
  Life life = starting(daemon);
  EXPECT_THAT(does(life, Life::RoundBegins{false, true, "after a change"}, with(daemon, Round::bears)),
              ElementsAre(Do::end_birth, Do::renew));
  Life waits = failed(daemon);
  EXPECT_THAT(does(waits, Life::RoundBegins{false, true, "after a change"}, with(daemon, Round::bears)),
              ElementsAre(Do::cancel_back_off, Do::renew));
}

TEST(Life, no_session_is_opened_while_its_daemon_is_being_stopped) {
  Life life;
  Facts held = daemon;
  held.blocked = true;
  EXPECT_THAT(does(life, Life::Needed{}, held), IsEmpty());
  EXPECT_THAT(does(life, Life::Due{"reconnected"}, held), IsEmpty());
  EXPECT_THAT(does(life, Life::Due{"reconnected"}, daemon), ElementsAre(Do::start));
}

TEST(Life, a_stopped_server_is_shown_as_starting_while_it_is_built) {
  Life life;
  EXPECT_THAT(does(life, Life::RoundBegins{true, false, "on request"}, with(plain, Round::builds)),
              ElementsAre(Do::build));
  EXPECT_EQ(life.shown(), Life::Shown::starting);
  EXPECT_THAT(does(life, Life::Needed{}, with(plain, Round::builds)), ElementsAre(Do::start))
      << "what is there serves until the build is done";
}

TEST(Life, after_a_failed_build_the_last_good_version_is_started) {
  Life life = gone_for_room();
  EXPECT_THAT(does(life, Life::BuildFailed{"words"}, with(once, Round::builds)), ElementsAre(Do::fail_round));
  EXPECT_THAT(follows(life, once), ElementsAre(Do::start));
}

TEST(Life, a_server_that_cannot_run_twice_is_not_started_during_its_build) {
  Life life = gone_for_room();
  EXPECT_THAT(does(life, Life::Needed{}, with(once, Round::builds)), IsEmpty());
}

// --- ends

TEST(Life, a_lost_generation_is_replaced) {
  Life life = ready();
  EXPECT_THAT(does(life, Life::Lost{"it was killed by SIGSEGV"}), ElementsAre(Do::back_off));
  EXPECT_TRUE(life.is<Life::Starting>());
}

TEST(Life, a_generation_lost_during_the_birth_of_the_next_waits_for_that_birth) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Lost{"it was killed by SIGSEGV"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_TRUE(life.is<Life::Starting>());
}

TEST(Life, a_stop_ends_what_runs_and_everything_planned) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Stop{"stopped", false}, with(plain, Round::builds)),
              ElementsAre(Do::stop_build, Do::end_birth, Do::give_up_round, Do::end_current, Do::end_others,
                          Do::settle));
  EXPECT_EQ(life.coming(), Next::nothing);
  EXPECT_EQ(life.shown(), Life::Shown::stopped);
  does(life, Life::Ended{});
  EXPECT_EQ(life.get<Life::Stopped>()->why, Life::Stopped::Why::on_request);
}

TEST(Life, a_stop_of_a_failed_server_ends_its_retries) {
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

TEST(Life, a_stop_is_confirmed_once_nothing_is_still_stopping) {
  Life life = stopping();
  Facts facts;
  facts.stop_wanted = facts.stops = true;
  EXPECT_THAT(follows(life, facts), IsEmpty());
  does(life, Life::Ended{}, facts);
  facts.stops = false;
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::tell_stopped));
}

TEST(Life, a_stop_also_applies_while_going_to_rest_or_making_room) {
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

TEST(Life, an_unneeded_server_rests) {
  Life life = resting();
  EXPECT_EQ(life.shown(), Life::Shown::stopped);
  does(life, Life::Ended{});
  EXPECT_EQ(life.get<Life::Stopped>()->why, Life::Stopped::Why::unneeded);
  EXPECT_THAT(follows(life), IsEmpty());
}

TEST(Life, only_a_serving_server_rests) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::Rest{}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Starting>());
}

TEST(Life, a_server_that_is_being_replaced_does_not_rest) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Rest{}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Ready>());
}

TEST(Life, a_reload_while_going_to_rest_begins_once_the_server_has_ended) {
  Life life = resting();
  EXPECT_THAT(does(life, Life::RoundWaits{}, with(plain, Round::waits)), IsEmpty());
  EXPECT_THAT(follows(life, with(plain, Round::waits)), IsEmpty());
  does(life, Life::Ended{}, with(plain, Round::waits));
  EXPECT_THAT(follows(life, with(plain, Round::waits)), ElementsAre(Do::begin_round));
}

TEST(Life, a_new_configuration_ends_a_birth_with_the_old_one) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::Configured{}), ElementsAre(Do::end_birth));
}

TEST(Life, a_new_configuration_keeps_a_start_that_waits_for_room) {
  Life life = waiting_for_room();
  EXPECT_THAT(does(life, Life::Configured{}), IsEmpty());
  EXPECT_EQ(life.coming(), Next::room);
}

TEST(Life, a_new_configuration_keeps_a_start_that_waits_for_the_old_process_to_end) {
  Life life = ready();
  does(life, Life::Rest{});
  does(life, Life::Wanted{"it was activated"});
  ASSERT_EQ(life.coming(), Next::room);
  EXPECT_THAT(does(life, Life::Configured{}), IsEmpty());
  EXPECT_EQ(life.coming(), Next::room);
  does(life, Life::Ended{});
  EXPECT_THAT(follows(life), ElementsAre(Do::start));
}

TEST(Life, a_removed_server_only_finishes_its_calls) {
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

TEST(Life, the_end_of_mcpivot_ends_everything) {
  Life life = reborn();
  EXPECT_THAT(does(life, Life::Farewell{"mcpivot is shutting down"}, with(plain, Round::bears)),
              ElementsAre(Do::stop_build, Do::end_birth, Do::refuse_waiting, Do::give_up_round, Do::settle,
                          Do::end_current, Do::end_others));
  does(life, Life::Ended{});
  EXPECT_EQ(life.trouble(), "mcpivot is shutting down");
}

TEST(Life, a_server_that_is_leaving_is_not_stopped_built_or_started) {
  Life life = leaving();
  EXPECT_THAT(does(life, Life::Stop{"stopped", false}), IsEmpty());
  EXPECT_THAT(does(life, Life::Built{"rebuilt"}, with(plain, Round::bears)), IsEmpty());
  EXPECT_THAT(does(life, Life::Lost{"it was killed"}), IsEmpty());
  EXPECT_TRUE(life.is<Life::Leaving>());
}

TEST(Life, mcpivot_may_end_while_a_server_is_leaving) {
  Life life = leaving();
  EXPECT_THAT(does(life, Life::Farewell{"mcpivot is shutting down"}),
              ElementsAre(Do::stop_build, Do::refuse_waiting, Do::give_up_round, Do::settle, Do::end_current,
                          Do::end_others));
}

TEST(Life, a_server_wanted_while_going_to_rest_is_started_afterwards) {
  Life life = resting();
  EXPECT_THAT(does(life, Life::Wanted{"it was activated"}), IsEmpty());
  EXPECT_THAT(follows(life), IsEmpty());
  does(life, Life::Ended{});
  EXPECT_EQ(life.next(plain), (Life::Effects{{Do::start, "it was activated"}}));
}

TEST(Life, a_stop_is_confirmed_even_for_a_server_that_is_leaving) {
  Life life = leaving();
  Facts facts;
  facts.stop_wanted = true;
  EXPECT_THAT(follows(life, facts), ElementsAre(Do::tell_stopped));
}

}  // namespace
}  // namespace mcpivot
