// Which changes of a server are on their way to its clients: something was saved, or a build was requested,
// and the generation that has it isn't serving yet. Also how long a call should wait for that.
//
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/clock.h"

namespace mcpivot {

class Changes {
 public:
  // The longest that a call waits, and the shortest, for changes that are usually quick.
  static constexpr std::chrono::milliseconds longest_wait{20'000};
  static constexpr std::chrono::milliseconds shortest_wait{1'000};

  struct Change {
    std::string reason;  // "after a change to src/main.cpp"
    Clock::Time since{};
    bool saved = false;  // not requested explicitly: a file was saved
  };
  using Id = std::uint64_t;

  Id begin(Change change);
  // The server has the change, or never will (not `ok`).
  void end(Id id, bool ok, Clock::Time now);

  // The one that began last; null: there is none.
  const Change* latest() const { return under_way_.empty() ? nullptr : &under_way_.back().change; }
  bool saved() const;
  // Twice what such a change usually takes, if that is known.
  std::chrono::milliseconds patience() const;

 private:
  struct UnderWay {
    Id id;
    Change change;
  };
  Id last_ = 0;
  std::vector<UnderWay> under_way_;
  std::deque<std::chrono::milliseconds> took_;  // the latest that succeeded
};

}  // namespace mcpivot
