// Time that passes only when something happens: the core's alarms, and whatever the simulated world does by
// itself, in one order. Hours pass in the time that it takes to compute what happens in them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "server/timers.h"

namespace simulation {

using Micros = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;

class VirtualTime final : public mcpivot::Timers {
 public:
  Time now() const override { return now_; }
  Date date() const override {
    return Date(std::chrono::duration_cast<Date::duration>(now_.time_since_epoch())) +
           std::chrono::hours(500'000);
  }

  // An event of the world's own that happens after this time.
  void later(Micros after, std::function<void()> what);
  // Makes the next thing happen, if it is due by then. False: nothing is, and it is now `until`.
  bool step(Time until);

  // A message, a death: the code that makes something happen within a step also counts it.
  void count() { ++events_; }
  std::uint64_t events() const { return events_; }

 private:
  struct Entry {
    Time due;
    std::uint64_t order;
    std::function<void()> what;
    bool operator>(const Entry& other) const {
      return due != other.due ? due > other.due : order > other.order;
    }
  };

  void on_next(Time) override {}  // step() looks for itself

  Time now_{std::chrono::hours(1)};  // 0 would look like "never"
  std::vector<Entry> agenda_;
  std::uint64_t orders_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace simulation
