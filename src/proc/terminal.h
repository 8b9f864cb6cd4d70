// What is known about the terminal at the other end of stdout or stderr, if there is one.
//
// Any thread, except for EndOnSignal, of which there is one at a time.
#pragma once

#include <cstddef>
#include <optional>

namespace mcpivot {

bool is_terminal(int descriptor);

// The width of stdout's terminal in columns; nothing if stdout isn't a terminal or doesn't report one.
std::optional<std::size_t> terminal_width();

// While it lives, a first SIGINT, SIGTERM or SIGHUP does not end the program but makes `due()` true, and ends
// a sleep; a second one ends it. For loops that have something to clean up at their end.
class EndOnSignal {
 public:
  EndOnSignal();
  ~EndOnSignal();
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;
  static bool due();
};

}  // namespace mcpivot
