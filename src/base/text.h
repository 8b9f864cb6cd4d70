// Small helpers for text. Letters are ASCII: protocol names have no locale.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// In lower case.
inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// Without white space at either end.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The line ending that the text uses, so that lines we add get the same.
inline std::string_view newline_of(std::string_view text) {
  const auto at = text.find('\n');
  return at != std::string_view::npos && at > 0 && text[at - 1] == '\r' ? "\r\n" : "\n";
}

}  // namespace mcpivot
