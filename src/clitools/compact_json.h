// JSON text on one line: what a program printed for people goes into a message, which can't contain newlines.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// The same text without the white space between its values; numbers and strings stay as they are spelled.
// The input must have been validated.
std::string compact_json(std::string_view text);

// Whether the text is one JSON value, in UTF-8.
bool is_json(std::string_view text);

}  // namespace mcpivot
