// The last resort at the edge of the event loop. Errors are values here, so an exception is a bug of ours, or
// memory has run out. It must not end a read loop: that peer would never be heard again, and nobody would
// notice.
//
// One thread.
#pragma once

#include <exception>
#include <string_view>

namespace mcpivot {

// Writes it to the log. Never throws.
void report_mistake(std::string_view where, const char* what) noexcept;

// Calls it and reports what it throws. False: it threw.
template <class Callback>
bool survive(std::string_view where, Callback&& callback) {
  try {
    callback();
    return true;
  } catch (const std::exception& error) {
    report_mistake(where, error.what());
    return false;
  }
}

}  // namespace mcpivot
