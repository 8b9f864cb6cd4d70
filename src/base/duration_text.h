// A duration as people write it: "3 ms", "1.8 s", "45 s", "3 min".
//
// Any thread.
#pragma once

#include <chrono>
#include <string>

namespace mcpivot {

std::string duration_text(std::chrono::milliseconds duration);

// How long a call takes: "0.4 ms", "12 ms", "1.5 s".
std::string short_time_text(std::chrono::microseconds time);

}  // namespace mcpivot
