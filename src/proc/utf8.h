// Text from processes may hold any bytes; what goes into a message must be UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// The text with what is not UTF-8 (or was cut in the middle of a character) replaced by question marks.
std::string as_utf8(std::string_view text);

}  // namespace mcpivot
