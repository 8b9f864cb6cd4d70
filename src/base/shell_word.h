// A word as it would be typed into a shell: in quotes if necessary. Any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace mcpivot {

// `plain`: special characters that need no quotes here.
inline std::string shell_word(std::string_view word, std::string_view plain = {}) {
  constexpr std::string_view special = " \t\n'\"\\|&;<>()*?[]{}#~!`$";
  const auto is_plain = [&](char c) {
    return special.find(c) == std::string_view::npos || plain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace mcpivot
