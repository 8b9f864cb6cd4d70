// Every step that an instance's life can take, for docs/life.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/written_docs.h"
#include "server/life.h"

namespace mcpivot {
namespace {

using Do = Life::Do;
using Facts = Life::Facts;
using Next = Life::Next;
using Round = Life::Round;

struct NamedEvent {
  const char* name;
  Life::Event event;
  Round round = Round::none;
};

std::string name_of(Do what) {
  constexpr auto names = std::to_array<const char*>(
      {"start",          "join birth",    "end birth",   "check",        "end current",     "detach current",
       "drain current",  "end others",    "build",       "stop build",   "begin round",     "renew",
       "fail round",     "give up round", "back off",    "look again",   "cancel back-off", "release",
       "refuse waiting", "settle",        "stop daemon", "tell stopped", "tell gone"});
  static_assert(names.size() == static_cast<std::size_t>(Do::tell_gone) + 1);
  return names[static_cast<std::size_t>(what)];
}

std::string name_of(const Life& life) {
  constexpr auto states =
      std::to_array<const char*>({"stopped", "starting", "ready", "ending", "failed", "leaving"});
  static_assert(states.size() == std::variant_size_v<Life::State>);
  constexpr auto comings = std::to_array<const char*>(
      {"", ", next: when there is room", ", next: later", ", next: birth", ", next: check"});
  std::string name = states[life.state().index()];
  if (const auto* const ending = life.get<Life::Ending>())
    name += std::to_array<const char*>(
        {" to stop", " to rest", " to make room"})[static_cast<std::size_t>(ending->what)];
  if (life.is_refused()) name += " by refusal";
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
      {"born, to be checked", Life::Born{1, true}, Round::bears},
      {"checked", Life::Checked{}, Round::bears},
      {"checked, to be held", Life::Checked{1, true, {}}, Round::bears},
      {"the birth failed", Life::BirthFailed{0, {}, true, {}}},
      {"the server says no", Life::BirthFailed{0, {}, true, {}, true}},
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

// Events about a birth are about the last one.
Life::Event about(const Life& life, Life::Event event) {
  if (auto* const born = std::get_if<Life::Born>(&event)) born->birth = life.births();
  if (auto* const checked = std::get_if<Life::Checked>(&event)) checked->birth = life.births();
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

// Whether it can happen: nothing that doesn't exist can be lost, and no round begins before what is ending
// has ended.
bool can_happen(const Life& life, const Life::Event& event, const Facts& facts) {
  const auto is = [&]<class E>(std::type_identity<E>) { return std::holds_alternative<E>(event); };
  if (is(std::type_identity<Life::Lost>())) return life.is<Life::Ready>();
  if (is(std::type_identity<Life::Ended>())) return life.is<Life::Ending>();
  if (const auto* const stop = std::get_if<Life::Stop>(&event)) return stop->at_once == facts.comes_and_goes;
  if (is(std::type_identity<Life::Born>())) return life.coming() == Next::birth;
  if (is(std::type_identity<Life::Checked>())) return life.coming() == Next::check;
  if (is(std::type_identity<Life::BirthFailed>()))
    return life.coming() == Next::birth || life.coming() == Next::check;
  if (is(std::type_identity<Life::BirthPostponed>()))
    return life.coming() == Next::birth && facts.comes_and_goes;
  if (is(std::type_identity<Life::Due>())) return life.coming() == Next::later || facts.comes_and_goes;
  const auto* const begins = std::get_if<Life::RoundBegins>(&event);
  if (begins != nullptr && begins->renews && !facts.comes_and_goes) return false;
  const bool of_round = begins != nullptr || is(std::type_identity<Life::Built>()) ||
                        is(std::type_identity<Life::BuildFailed>());
  return !of_round || !life.is<Life::Ending>();
}

// All states that a life of this kind can reach, by name.
std::map<std::string, Life> reachable(const Facts& kind) {
  const Life stopped;
  std::map<std::string, Life> found{{name_of(stopped), stopped}};
  std::vector<Life> to_follow{stopped};
  while (!to_follow.empty()) {
    const Life from = to_follow.back();
    to_follow.pop_back();
    for (const NamedEvent& event : all_events()) {
      if (!can_happen(from, event.event, kind)) continue;
      for (const bool others : {false, true}) {
        Life life = from;
        Facts facts = kind;
        facts.round = event.round;
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
      {{"", {}},
       {"; it cannot run twice", {.overlaps = false}},
       {"; it comes and goes", {.comes_and_goes = true}}}};
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

TEST(LifeTable, in_the_repository_is_up_to_date) {
  host::expect_written_part("life.md", "steps", table());
}

}  // namespace
}  // namespace mcpivot
