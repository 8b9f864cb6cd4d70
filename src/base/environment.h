// Where variables come from: the environment of this process, or a test's replacement for it.
//
// Any thread, as long as none sets a variable.
#pragma once

#include <cstdlib>
#include <functional>

namespace mcpivot {

using Variable = std::function<const char*(const char* name)>;  // null: not set

inline const char* own_variable(const char* name) {
  return std::getenv(name);
}

}  // namespace mcpivot
