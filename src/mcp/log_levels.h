// How verbose a server is asked to be: the levels of the MCP specification.
//
// Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace mcpivot {

// The most verbose first.
inline constexpr std::array<std::string_view, 8> log_levels{"debug", "info",     "notice", "warning",
                                                            "error", "critical", "alert",  "emergency"};

// Its index; one past the end if it isn't one of them.
constexpr std::size_t rank_of(std::string_view level) {
  return static_cast<std::size_t>(std::ranges::find(log_levels, level) - log_levels.begin());
}

}  // namespace mcpivot
