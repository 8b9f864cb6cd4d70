// What time it is, for whoever must not ask the system: in a simulation time passes as it is told to.
//
// Any thread, if the clock says nothing else.
#pragma once

#include <chrono>

namespace mcpivot {

class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Date = std::chrono::system_clock::time_point;

  virtual ~Clock() = default;
  virtual Time now() const = 0;
  // The same to some milliseconds, for a fifth of the cost: enough for deadlines.
  virtual Time about_now() const { return now(); }
  // For what people read, and files are marked with.
  virtual Date date() const = 0;

  std::chrono::milliseconds since(Time then) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now() - then);
  }
};

}  // namespace mcpivot
