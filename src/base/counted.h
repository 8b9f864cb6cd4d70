// A number with what it counts, for people: "1 tool", "2 tools".
//
// Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mcpivot {

inline std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace mcpivot
