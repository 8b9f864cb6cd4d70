// Whether text is UTF-8, fast enough for every message, and what to do with text that isn't. A library for
// this one question would be one more dependency of every package of mcpivot.
//
// Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mcpivot {

bool is_utf8(std::string_view text);

// The same, byte by byte: for processors without the instructions that is_utf8() uses.
bool is_utf8_by_bytes(std::string_view text);

// The length in bytes of the text's first character; 0 if there is none.
std::size_t character_length(std::string_view text);

// Whether this byte continues a character rather than starting one.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Processes may print any bytes, but what goes into a message must be UTF-8. Returns the text with invalid
// bytes, and characters that were cut off, replaced by question marks.
std::string as_utf8(std::string_view text);

// For terminals: control characters, which would move the cursor or more, replaced by question marks; those
// of `kept` stay.
std::string printable(std::string_view text, std::string_view kept = "\n\t");

// For logs and errors: the beginning of what somebody sent, on one line and without control characters.
std::string shown_text(std::string_view text, std::size_t most = 80);

}  // namespace mcpivot
