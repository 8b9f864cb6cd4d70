// A span of time as people say it: "3 ms", "1.8 s", "45 s", "3 min".
#pragma once

#include <chrono>
#include <string>

namespace mcpivot {

std::string duration_text(std::chrono::milliseconds duration);

}  // namespace mcpivot
