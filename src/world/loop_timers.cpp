#include "world/loop_timers.h"

#include <time.h>

namespace mcpivot {

Clock::Time LoopTimers::about_now() const {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

void LoopTimers::on_next(Time due) {
  if (waits_for_ && *waits_for_ <= due) return;
  waits_for_ = due;
  timer_.expires_at(due);
  timer_.async_wait([this, here = std::weak_ptr(here_)](const boost::system::error_code& error) {
    if (error || here.expired()) return;
    waits_for_.reset();
    ring_due();
  });
}

}  // namespace mcpivot
