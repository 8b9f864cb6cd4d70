#include "virtual_time.h"

#include <algorithm>
#include <utility>

namespace simulation {

void VirtualTime::later(Micros after, std::function<void()> what) {
  agenda_.push_back({now_ + after, ++orders_, std::move(what)});
  std::ranges::push_heap(agenda_, std::greater());
}

bool VirtualTime::step(Time until) {
  const auto alarm = next();
  const bool has_alarm = alarm && *alarm <= until;
  const bool has_entry = !agenda_.empty() && agenda_.front().due <= until;
  if (!has_alarm && !has_entry) {
    now_ = std::max(now_, until);
    return false;
  }
  // If both kinds are due at the same moment, either may come first; which one does depends only on that
  // moment.
  bool rings = has_alarm;
  if (has_alarm && has_entry) {
    const auto due = agenda_.front().due;
    const bool alarms_first = due.time_since_epoch().count() / 1'000 % 2 == 0;
    rings = *alarm == due ? alarms_first : *alarm < due;
  }
  if (rings) {
    now_ = std::max(now_, *alarm);
    ++events_;
    ring_one();
    return true;
  }
  std::ranges::pop_heap(agenda_, std::greater());
  const Entry entry = std::move(agenda_.back());
  agenda_.pop_back();
  now_ = std::max(now_, entry.due);
  entry.what();
  return true;
}

}  // namespace simulation
