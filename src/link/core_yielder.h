// Yields the core for a moment where that pays off: messages are cheaper in larger batches, and what we have
// just passed on gives our peers work that may have to run on our core.
//
// But if another process (a compiler, say) keeps the core for long, yielding costs more than it gains, and
// isn't done again for a while. One thread.
#pragma once

#include <sched.h>

#include <chrono>

namespace mcpivot {

class CoreYielder {
 public:
  void yield() {
    const auto before = std::chrono::steady_clock::now();
    if (before < not_before_) return;
    ::sched_yield();
    const auto after = std::chrono::steady_clock::now();
    if (after - before > too_long) not_before_ = after + pause;
  }

 private:
  static constexpr std::chrono::microseconds too_long{500};
  static constexpr std::chrono::seconds pause{1};
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace mcpivot
