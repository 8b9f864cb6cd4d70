#pragma once

namespace mcpivot {

// The exit code of a command line that cannot be meant.
inline constexpr int usage_error = 2;

}  // namespace mcpivot
