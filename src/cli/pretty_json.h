// JSON text on several lines, for people: only white space is added, so keys, numbers and escapes stay as
// they were spelled.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// Small objects and lists stay on one line, if that is no longer than `width`. What isn't JSON comes back as
// it is.
std::string pretty_json(std::string_view text, std::size_t width = 80);

}  // namespace mcpivot
