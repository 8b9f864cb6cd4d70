// A word as it would be typed into a shell: in quotes if it must be. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

inline std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\|&;<>()*?[]{}#~!`$") == std::string_view::npos)
    return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace mcpivot
