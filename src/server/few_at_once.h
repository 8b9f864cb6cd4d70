// Of many things that happen at about the same time, only the first few are told at length: hundreds of
// requests may fail for the same reason, and each of their answers has room for a server's stderr.
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace mcpivot {

class FewAtOnce {
 public:
  static constexpr std::size_t most = 16;
  static constexpr std::chrono::seconds at_once{1};

  // Whether this is one of the first.
  bool take(Clock::Time now) {
    if (taken_ == 0 || now - since_ > at_once) {
      since_ = now;
      taken_ = 0;
    }
    return ++taken_ <= most;
  }

 private:
  Clock::Time since_{};
  std::size_t taken_ = 0;
};

}  // namespace mcpivot
