// How a text ends its lines, so that what we add ends its own the same way.
#pragma once

#include <string_view>

namespace mcpivot {

inline std::string_view newline_of(std::string_view text) {
  const auto at = text.find('\n');
  return at != std::string_view::npos && at > 0 && text[at - 1] == '\r' ? "\r\n" : "\n";
}

}  // namespace mcpivot
