#include "server/reload_rounds.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/contains.h"

namespace mcpivot {

ReloadRounds::Step ReloadRounds::join(Reload reload, bool can_build, bool build_is_enough) {
  const bool builds = reload.build && can_build;
  if (round_ == Round::builds && builds && !build_is_enough) {
    later_.push_back(std::move(reload));
    return Step::nothing;
  }
  now_.push_back(std::move(reload));
  if (round_ == Round::none) {
    round_ = Round::waits;
    return Step::begin;
  }
  if (round_ != Round::bears) return Step::nothing;
  if (builds) round_ = Round::builds;
  return builds ? Step::build : Step::bear;
}

bool ReloadRounds::begin(bool can_build) {
  const bool builds = can_build && std::ranges::any_of(now_, &Reload::build);
  round_ = builds ? Round::builds : Round::bears;
  return builds;
}

void ReloadRounds::tell(std::string_view line) const {
  for (const Reload& reload : now_)
    if (reload.progress) reload.progress(line);
}

bool ReloadRounds::give_up(ReloadId id) {
  const auto later = std::ranges::find(later_, id, &Reload::id);
  if (later != later_.end()) {
    const Reload gone = std::move(*later);
    later_.erase(later);
    gone.done({false, "[mcpivot] cancelled before it began"});
    return false;
  }
  if (std::ranges::find(now_, id, &Reload::id) == now_.end()) return false;
  given_up_.push_back(id);
  if (given_up_.size() < now_.size()) return false;  // without comparing them all: there may be thousands
  return std::ranges::all_of(now_, [&](const Reload& reload) {
    return reload.id != ReloadId::none && contains(given_up_, reload.id);
  });
}

bool ReloadRounds::end(const ReloadOutcome& outcome) {
  round_ = Round::none;
  given_up_.clear();
  for (const Reload& reload : std::exchange(now_, {})) reload.done(outcome);
  if (under_way() || later_.empty()) return false;  // a caller that was told has already begun a round
  now_ = std::exchange(later_, {});
  round_ = Round::waits;
  return true;
}

void ReloadRounds::gather() {
  std::ranges::move(std::exchange(later_, {}), std::back_inserter(now_));
}

bool ReloadRounds::changes_server() const {
  return std::ranges::any_of(now_, [](const Reload& reload) { return reload.build || reload.changed; });
}

bool ReloadRounds::wants_check() const {
  return std::ranges::any_of(
      now_, [](const Reload& reload) { return (reload.build || reload.changed) && !reload.accepts; });
}

bool ReloadRounds::follows_saves() const {
  return std::ranges::all_of(now_, &Reload::saved);
}

std::vector<ClientId> ReloadRounds::askers() const {
  std::vector<ClientId> askers;
  for (const Reload& reload : now_)
    if (reload.asker != ClientId::nobody && !contains(given_up_, reload.id)) askers.push_back(reload.asker);
  return askers;
}

bool ReloadRounds::is_unasked() const {
  return std::ranges::find(now_, ClientId::nobody, &Reload::asker) != now_.end();
}

bool ReloadRounds::wants_renewal() const {
  return std::ranges::any_of(now_, &Reload::renew);
}

}  // namespace mcpivot
