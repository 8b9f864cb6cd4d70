// The time, for code that must not ask the system: in a simulation, time is virtual.
//
// Any thread, unless a clock says otherwise.
#pragma once

#include <chrono>

namespace mcpivot {

class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Date = std::chrono::system_clock::time_point;

  virtual ~Clock() = default;
  virtual Time now() const = 0;
  // The same to within some milliseconds, for a fifth of the cost: good enough for deadlines.
  virtual Time about_now() const { return now(); }
  // For text that people read, and for timestamps in files.
  virtual Date date() const = 0;

  std::chrono::milliseconds since(Time then) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now() - then);
  }
};

}  // namespace mcpivot
