// Whether a list holds a value: std::ranges::contains, which g++ 12 lacks.
//
// Any thread.
#pragma once

#include <algorithm>
#include <iterator>

namespace mcpivot {

bool contains(const auto& list, const auto& value) {
  return std::ranges::find(list, value) != std::end(list);
}

}  // namespace mcpivot
