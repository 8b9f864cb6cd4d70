#include "server/life.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

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

// --- lives that have come so far

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

Life stopped() {
  return {};
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
Life reborn() {  // one serves, and the next is being born
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

TEST(Life, a_first_birth_that_fails_is_told_and_tried_again) {
  Life life = starting();
  EXPECT_THAT(does(life, Life::BirthFailed{1, "it exited", true, "words"}),
              ElementsAre(Do::fail_round, Do::settle, Do::back_off));
  EXPECT_TRUE(life.is<Life::Failed>());
  EXPECT_EQ(life.trouble(), "it exited");
  EXPECT_THAT(does(life, Life::Due{"after a crash"}), ElementsAre(Do::start));
  EXPECT_THAT(std::string(life.trouble()), HasSubstr("the last time it exited"));
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

// --- what is asked of one that does not serve

TEST(Life, a_request_starts_what_is_stopped) {
  Life life;
  EXPECT_THAT(does(life, Life::Needed{}), ElementsAre(Do::start));
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
              IsEmpty());
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
  held.held = true;
  EXPECT_THAT(does(life, Life::Needed{}, held), IsEmpty());
  EXPECT_THAT(does(life, Life::Due{"connected again"}, held), IsEmpty());
  EXPECT_THAT(does(life, Life::Due{"connected again"}, daemon), ElementsAre(Do::start));
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
  Life waits = waiting_for_room();
  EXPECT_THAT(does(waits, Life::Configured{}), IsEmpty());
  EXPECT_EQ(waits.coming(), Next::nothing);
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
  EXPECT_THAT(does(life, Life::Farewell{"mcpivot ends"}, with(plain, Round::bears)),
              ElementsAre(Do::stop_build, Do::end_birth, Do::refuse_waiting, Do::give_up_round, Do::settle,
                          Do::end_current, Do::end_others));
  does(life, Life::Ended{});
  EXPECT_EQ(life.trouble(), "mcpivot ends");
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
  EXPECT_THAT(does(life, Life::Farewell{"mcpivot ends"}),
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

// --- the table in docs/life.md

struct Named {
  const char* name;
  Life life;
};
struct NamedEvent {
  const char* name;
  Life::Event event;
  Round round = Round::none;
};

std::string name_of(Do what) {
  constexpr auto names = std::to_array<const char*>(
      {"start",       "end birth",    "end current",     "detach current", "drain current",  "end others",
       "build",       "stop build",   "begin round",     "renew",          "fail round",     "give up round",
       "back off",    "look again",   "cancel back-off", "release",        "refuse waiting", "settle",
       "stop daemon", "tell stopped", "tell gone"});
  static_assert(names.size() == static_cast<std::size_t>(Do::tell_gone) + 1);
  return names[static_cast<std::size_t>(what)];
}

std::string name_of(const Life& life) {
  constexpr auto states =
      std::to_array<const char*>({"stopped", "starting", "ready", "ending", "failed", "leaving"});
  static_assert(states.size() == std::variant_size_v<Life::State>);
  constexpr auto comings =
      std::to_array<const char*>({"", ", next: when there is room", ", next: later", ", next: birth"});
  std::string name = states[life.state().index()];
  if (const auto* const ending = life.get<Life::Ending>())
    name += std::to_array<const char*>(
        {" to stop", " to rest", " to make room"})[static_cast<std::size_t>(ending->what)];
  return name + comings[static_cast<std::size_t>(life.coming())];
}

std::vector<NamedEvent> all_events() {
  std::vector<NamedEvent> events{
      {"somebody wants it", Life::Wanted{}},
      {"a call finds nobody", Life::Needed{}},
      {"a generation is due", Life::Due{}},
      {"a round waits", Life::RoundWaits{}, Round::waits},
      {"a round begins: build", Life::RoundBegins{true, false, {}}, Round::builds},
      {"a round begins: birth", Life::RoundBegins{false, false, {}}, Round::bears},
      {"a round begins: renewal", Life::RoundBegins{false, true, {}}, Round::bears},
      {"the build is done", Life::Built{}, Round::bears},
      {"the build failed", Life::BuildFailed{}, Round::builds},
      {"born", Life::Born{1}},
      {"the birth failed", Life::BirthFailed{0, {}, true, {}}},
      {"the birth is postponed", Life::BirthPostponed{}},
      {"what served is lost", Life::Lost{}},
      {"what served has ended", Life::Ended{}},
      {"stop", Life::Stop{{}, false}},
      {"stop a daemon", Life::Stop{{}, true}},
      {"rest", Life::Rest{}},
      {"configured", Life::Configured{}},
      {"retired", Life::Retired{}},
      {"mcpivot ends", Life::Farewell{}}};
  return events;
}

// What speaks of a birth speaks of the last one.
Life::Event about(const Life& life, Life::Event event) {
  if (auto* const born = std::get_if<Life::Born>(&event)) born->birth = life.births();
  if (auto* const failed = std::get_if<Life::BirthFailed>(&event)) failed->birth = life.births();
  if (auto* const postponed = std::get_if<Life::BirthPostponed>(&event)) postponed->birth = life.births();
  return event;
}

std::string step(Life life, const NamedEvent& event, Facts facts) {
  facts.round = event.round;
  std::string done;
  for (const Life::Effect& effect : life.on(about(life, event.event), facts))
    done += fmt::format("{}{}", done.empty() ? "" : ", ", name_of(effect.what));
  return fmt::format("{} | {}", name_of(life), done);
}

// Whether it can: nobody loses what isn't there, and no round begins before what ends has ended.
bool can_happen(const Life& life, const Life::Event& event, const Facts& facts) {
  const auto is = [&]<class E>(std::type_identity<E>) { return std::holds_alternative<E>(event); };
  if (is(std::type_identity<Life::Lost>())) return life.is<Life::Ready>();
  if (is(std::type_identity<Life::Ended>())) return life.is<Life::Ending>();
  if (const auto* const stop = std::get_if<Life::Stop>(&event)) return stop->at_once == facts.comes_and_goes;
  const bool of_birth = is(std::type_identity<Life::Born>()) || is(std::type_identity<Life::BirthFailed>());
  if (of_birth) return life.coming() == Next::birth;
  if (is(std::type_identity<Life::BirthPostponed>()))
    return life.coming() == Next::birth && facts.comes_and_goes;
  if (is(std::type_identity<Life::Due>())) return life.coming() == Next::later || facts.comes_and_goes;
  const auto* const begins = std::get_if<Life::RoundBegins>(&event);
  if (begins != nullptr && begins->renews && !facts.comes_and_goes) return false;
  const bool of_round = begins != nullptr || is(std::type_identity<Life::Built>()) ||
                        is(std::type_identity<Life::BuildFailed>());
  return !of_round || !life.is<Life::Ending>();
}

// All that a life of this kind can come to, by name.
std::map<std::string, Life> reachable(const Facts& kind) {
  std::map<std::string, Life> found{{name_of(stopped()), stopped()}};
  std::vector<Life> to_follow{stopped()};
  while (!to_follow.empty()) {
    const Life from = to_follow.back();
    to_follow.pop_back();
    for (const NamedEvent& event : all_events()) {
      if (!can_happen(from, event.event, kind)) continue;
      for (const bool others : {false, true}) {
        Life life = from;
        Facts facts = with(kind, event.round);
        facts.others = others;
        life.on(about(life, event.event), facts);
        if (found.emplace(name_of(life), life).second) to_follow.push_back(life);
      }
    }
  }
  return found;
}

std::string table() {
  std::string text = "| it is | and this happens | it becomes | and this is done |\n|---|---|---|---|\n";
  const std::array<std::pair<std::string, Facts>, 3> kinds{
      {{"", plain}, {"; it cannot run twice", once}, {"; it comes and goes", daemon}}};
  std::array<std::map<std::string, Life>, 3> lives;
  std::set<std::string> names;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    lives.at(kind) = reachable(kinds.at(kind).second);
    for (const auto& [name, life] : lives.at(kind)) names.insert(name);
  }
  for (const std::string& name : names)
    for (const NamedEvent& event : all_events()) {
      std::string usual;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        const auto& [mark, facts] = kinds.at(kind);
        const auto found = lives.at(kind).find(name);
        if (found == lives.at(kind).end() || !can_happen(found->second, event.event, facts)) continue;
        const std::string then = step(found->second, event, facts);
        if (kind == 0) usual = then;
        if ((kind == 0 || then != usual) && then != fmt::format("{} | ", name))
          text += fmt::format("| {} | {}{} | {} |\n", name, event.name, mark, then);
      }
    }
  return text;
}

TEST(Life, the_table_in_the_repository_is_that_of_the_program) {
  constexpr std::string_view begin_mark = "<!-- steps: written by the program, see life_test.cpp -->\n";
  constexpr std::string_view end_mark = "<!-- steps: end -->\n";
  const std::string path = PROJECT_DIRECTORY "/docs/life.md";
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  std::string text = read.str();
  const auto begin = text.find(begin_mark);
  const auto end = text.find(end_mark);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto inside = begin + begin_mark.size();
  const std::string expected = "\n" + table() + "\n";
  if (std::getenv("MCPIVOT_WRITE_DOCS") != nullptr) {
    text.replace(inside, end - inside, expected);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(inside, end - inside), expected)
      << "run: MCPIVOT_WRITE_DOCS=1 build/release/unit_tests --gtest_filter='Life*'";
}

}  // namespace
}  // namespace mcpivot
