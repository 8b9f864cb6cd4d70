#include "server/reload_rounds.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mcpivot {

bool ReloadRounds::join(Reload reload, bool can_build) {
  if (under_way() && reload.build && can_build && stage_ == Stage::plain) {
    later_.push_back(std::move(reload));
    return false;
  }
  now_.push_back(std::move(reload));
  if (now_.size() > 1) return false;
  stage_ = Stage::waiting;
  return true;
}

bool ReloadRounds::begin(bool can_build) {
  const bool builds = can_build && std::ranges::any_of(now_, &Reload::build);
  stage_ = builds ? Stage::building : Stage::plain;
  return builds;
}

void ReloadRounds::tell(std::string_view line) const {
  for (const Reload& reload : now_)
    if (reload.progress) reload.progress(line);
}

bool ReloadRounds::give_up_one() {
  return ++given_up_ >= now_.size();
}

bool ReloadRounds::end(const ReloadOutcome& outcome) {
  stage_ = Stage::none;
  given_up_ = 0;
  for (const Reload& reload : std::exchange(now_, {})) reload.done(outcome);
  if (under_way() || later_.empty()) return false;  // whoever was told has begun a round already
  now_ = std::exchange(later_, {});
  stage_ = Stage::waiting;
  return true;
}

void ReloadRounds::gather() {
  std::ranges::move(std::exchange(later_, {}), std::back_inserter(now_));
}

bool ReloadRounds::wants_renewal() const {
  return std::ranges::any_of(now_, &Reload::renew);
}

}  // namespace mcpivot
