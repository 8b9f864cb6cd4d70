#include "cli/split_words.h"

namespace mcpivot {

std::expected<std::vector<std::string>, std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == '\0' && space) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (++i == text.size()) return std::unexpected("it ends with a backslash");
      // Within double quotes, a backslash is literal unless it escapes something.
      if (quote == '"' && text[i] != '"' && text[i] != '\\') words.back() += '\\';
      words.back() += text[i];
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') return std::unexpected(std::string("a ") + quote + " is not closed");
  return words;
}

}  // namespace mcpivot
