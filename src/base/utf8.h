// Whether text is UTF-8, at the speed at which messages pass, and what becomes of text that isn't. A library
// for the one question would have to be carried along by every package of mcpivot.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

bool is_utf8(std::string_view text);

// The same, byte by byte: for processors without the instructions that the other one uses.
bool is_utf8_by_bytes(std::string_view text);

// Text from processes may hold any bytes; what goes into a message must be UTF-8. This is the text with
// whatever isn't (or was cut in the middle of a character) replaced by question marks.
std::string as_utf8(std::string_view text);

}  // namespace mcpivot
