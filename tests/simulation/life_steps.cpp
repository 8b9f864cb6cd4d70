#include "life_steps.h"

#include <fmt/format.h>

#include <type_traits>

namespace life_steps {
namespace {

using Next = Life::Next;
using Round = Life::Round;

constexpr auto states =
    std::to_array<const char*>({"stopped", "starting", "ready", "ending to stop", "ending to rest",
                                "ending to make room", "failed", "failed by refusal", "leaving"});
constexpr auto comings = std::to_array<const char*>(
    {"", ", next: when there is room", ", next: later", ", next: birth", ", next: check"});
static_assert(states.size() * comings.size() == place_count);

std::size_t state_of(const Life& life) {
  if (life.is<Life::Stopped>()) return 0;
  if (life.is<Life::Starting>()) return 1;
  if (life.is<Life::Ready>()) return 2;
  if (const auto* const ending = life.get<Life::Ending>()) return 3 + static_cast<std::size_t>(ending->what);
  if (life.is<Life::Failed>()) return life.is_refused() ? 7 : 6;
  return 8;
}

}  // namespace

const std::array<NamedEvent, event_count>& all_events() {
  static const std::array<NamedEvent, event_count> events{
      {{"somebody wants it", Life::Wanted{}},
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
       {"mcpivot ends", Life::Farewell{}}}};
  return events;
}

std::size_t index_of(const Life::Event& event) {
  const auto like = [&](const Life::Event& other) {
    if (event.index() != other.index()) return false;
    if (const auto* const begins = std::get_if<Life::RoundBegins>(&event)) {
      const auto& one = std::get<Life::RoundBegins>(other);
      return begins->builds == one.builds && (begins->builds || begins->renews == one.renews);
    }
    if (const auto* const born = std::get_if<Life::Born>(&event))
      return born->checks == std::get<Life::Born>(other).checks;
    if (const auto* const checked = std::get_if<Life::Checked>(&event))
      return checked->held == std::get<Life::Checked>(other).held;
    if (const auto* const failed = std::get_if<Life::BirthFailed>(&event))
      return failed->refused == std::get<Life::BirthFailed>(other).refused;
    if (const auto* const stop = std::get_if<Life::Stop>(&event))
      return stop->at_once == std::get<Life::Stop>(other).at_once;
    return true;
  };
  std::size_t index = 0;
  while (!like(all_events().at(index).event)) ++index;
  return index;
}

std::size_t place_of(const Life& life) {
  return state_of(life) * comings.size() + static_cast<std::size_t>(life.coming());
}

std::string name_of(std::size_t place) {
  return fmt::format("{}{}", states.at(place / comings.size()), comings.at(place % comings.size()));
}

const std::array<Kind, kind_count>& kinds() {
  static const std::array<Kind, kind_count> kinds{{{"", {}},
                                                   {"; it cannot run twice", {.overlaps = false}},
                                                   {"; it comes and goes", {.comes_and_goes = true}}}};
  return kinds;
}

Life::Event about(const Life& life, Life::Event event) {
  if (auto* const born = std::get_if<Life::Born>(&event)) born->birth = life.births();
  if (auto* const checked = std::get_if<Life::Checked>(&event)) checked->birth = life.births();
  if (auto* const failed = std::get_if<Life::BirthFailed>(&event)) failed->birth = life.births();
  if (auto* const postponed = std::get_if<Life::BirthPostponed>(&event)) postponed->birth = life.births();
  return event;
}

bool can_happen(const Life& life, const Life::Event& event, const Life::Facts& facts) {
  const auto is = [&]<class... E>(std::type_identity<E>...) {
    return (std::holds_alternative<E>(event) || ...);
  };
  using std::type_identity;
  const bool bears = life.coming() == Next::birth || life.coming() == Next::check;
  const bool ends = life.is<Life::Ending>() || life.is<Life::Leaving>();
  if (is(type_identity<Life::Lost>())) return life.is<Life::Ready>();
  if (is(type_identity<Life::Rest>())) return life.is<Life::Ready>() && life.coming() == Next::nothing;
  if (is(type_identity<Life::Needed>())) return !life.is<Life::Ready>();
  if (is(type_identity<Life::Ended>())) return life.is<Life::Ending>();
  if (is(type_identity<Life::Retired>())) return !life.is<Life::Leaving>();
  if (const auto* const stop = std::get_if<Life::Stop>(&event)) return stop->at_once == facts.comes_and_goes;
  if (is(type_identity<Life::Born>())) return life.coming() == Next::birth;
  if (is(type_identity<Life::Checked>())) return life.coming() == Next::check;
  if (const auto* const failed = std::get_if<Life::BirthFailed>(&event))
    return failed->refused ? life.coming() == Next::birth : bears;
  if (is(type_identity<Life::BirthPostponed>())) return bears && facts.comes_and_goes;
  if (is(type_identity<Life::Due>())) return life.coming() == Next::later || (facts.comes_and_goes && !ends);
  if (is(type_identity<Life::Built>(), type_identity<Life::BuildFailed>()))
    return !ends && !life.is<Life::Stopped>();
  if (const auto* const begins = std::get_if<Life::RoundBegins>(&event))
    return !ends && (facts.comes_and_goes || !begins->renews);
  return true;
}

bool changes(Life life, const NamedEvent& event, Life::Facts facts) {
  const std::size_t before = place_of(life);
  facts.round = event.round;
  const Life::Effects effects = life.on(about(life, event.event), facts);
  return !effects.empty() || place_of(life) != before;
}

std::map<std::size_t, Life> reachable(const Life::Facts& kind) {
  const Life stopped;
  std::map<std::size_t, Life> found{{place_of(stopped), stopped}};
  std::vector<Life> to_follow{stopped};
  while (!to_follow.empty()) {
    const Life from = to_follow.back();
    to_follow.pop_back();
    for (const NamedEvent& event : all_events()) {
      if (!can_happen(from, event.event, kind)) continue;
      for (const bool others : {false, true}) {
        Life life = from;
        Life::Facts facts = kind;
        facts.round = event.round;
        facts.others = others;
        life.on(about(life, event.event), facts);
        if (found.emplace(place_of(life), life).second) to_follow.push_back(life);
      }
    }
  }
  return found;
}

}  // namespace life_steps
