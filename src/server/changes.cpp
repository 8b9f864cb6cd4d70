#include "server/changes.h"

#include <algorithm>
#include <utility>

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_remembered = 9;

}  // namespace

Changes::Id Changes::begin(Change change) {
  under_way_.push_back({++last_, std::move(change)});
  return last_;
}

void Changes::end(Id id, bool ok, Clock::Time now) {
  const auto found = std::ranges::find(under_way_, id, &UnderWay::id);
  if (found == under_way_.end()) return;
  if (ok && found->change.saved) took_.push_back(std::chrono::ceil<milliseconds>(now - found->change.since));
  if (took_.size() > most_remembered) took_.pop_front();
  under_way_.erase(found);
}

bool Changes::saved() const {
  return std::ranges::any_of(under_way_, [](const UnderWay& one) { return one.change.saved; });
}

milliseconds Changes::patience() const {
  if (took_.empty()) return longest_wait;
  std::vector<milliseconds> sorted(took_.begin(), took_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return std::clamp(2 * *middle, shortest_wait, longest_wait);
}

}  // namespace mcpivot
