// Whether text is UTF-8, at the speed at which messages pass, and what becomes of text that isn't. A library
// for the one question would have to be carried along by every package of mcpivot.
//
// Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mcpivot {

bool is_utf8(std::string_view text);

// The same, byte by byte: for processors without the instructions that the other one uses.
bool is_utf8_by_bytes(std::string_view text);

// How long the character is that the text begins with, in bytes; 0: there is none.
std::size_t character_length(std::string_view text);

// Whether a byte of UTF-8 is not the first of its character.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Text from processes may hold any bytes; what goes into a message must be UTF-8. This is the text with
// whatever isn't (or was cut in the middle of a character) replaced by question marks.
std::string as_utf8(std::string_view text);

// For a log or an error: the beginning of what somebody sent, in one line and without control characters.
std::string shown_text(std::string_view text, std::size_t most = 80);

}  // namespace mcpivot
