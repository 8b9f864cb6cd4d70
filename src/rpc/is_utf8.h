// Whether text is UTF-8, at the speed at which messages pass. A library for this one question would have to
// be carried along by every package of mcpivot.
//
// Any thread.
#pragma once

#include <string_view>

namespace mcpivot {

bool is_utf8(std::string_view text);

// The same, byte by byte: for processors without the instructions that the other one uses.
bool is_utf8_by_bytes(std::string_view text);

}  // namespace mcpivot
