#include "server/timers.h"

#include <algorithm>

#include "log/last_resort.h"

namespace mcpivot {
namespace {

// Cancelled entries are removed when they make up most of the heap, and there are at least this many.
constexpr std::size_t least_to_clean = 64;

}  // namespace

std::uint32_t Timers::take_slot() {
  if (free_.empty()) {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void Timers::give_back(std::uint32_t slot) {
  cancel(slot);
  free_.push_back(slot);
}

void Timers::set(std::uint32_t slot, Time due, std::function<void()> ring) {
  cancel(slot);
  Slot& one = slots_[slot];
  one.set = true;
  one.ring = std::move(ring);
  ++set_;
  drop_stale();
  const bool first = heap_.empty() || due < heap_.front().due;
  heap_.push_back({due, ++orders_, slot, one.count});
  std::ranges::push_heap(heap_, std::greater());
  if (first) on_next(due);
}

void Timers::cancel(std::uint32_t slot) {
  Slot& one = slots_[slot];
  ++one.count;
  if (!std::exchange(one.set, false)) return;
  --set_;
  // Destroying the handler may destroy other alarms.
  const auto gone = std::exchange(one.ring, nullptr);
}

void Timers::drop_stale() {
  if (heap_.size() > least_to_clean && heap_.size() > 2 * set_) {
    std::erase_if(heap_, [this](const Entry& entry) { return !counts(entry); });
    std::ranges::make_heap(heap_, std::greater());
  }
  while (!heap_.empty() && !counts(heap_.front())) {
    std::ranges::pop_heap(heap_, std::greater());
    heap_.pop_back();
  }
}

std::optional<Timers::Time> Timers::next() {
  drop_stale();
  if (heap_.empty()) return std::nullopt;
  return heap_.front().due;
}

bool Timers::ring_one() {
  drop_stale();
  if (heap_.empty() || heap_.front().due > now()) return false;
  const Entry entry = heap_.front();
  std::ranges::pop_heap(heap_, std::greater());
  heap_.pop_back();
  Slot& slot = slots_[entry.slot];
  ++slot.count;
  slot.set = false;
  --set_;
  const auto ring = std::exchange(slot.ring, nullptr);
  // Whatever one of them does, the others must ring on time.
  survive("alarm", ring);
  return true;
}

void Timers::ring_due() {
  // An alarm that sets itself again at once must not keep the loop from everything else.
  const std::uint64_t last = orders_;
  const Time until = now();
  while (true) {
    drop_stale();
    if (heap_.empty() || heap_.front().due > until || heap_.front().order > last) break;
    ring_one();
  }
  if (const auto due = next()) on_next(*due);
}

}  // namespace mcpivot
