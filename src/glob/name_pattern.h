// A pattern for one name, that of a file or of a tool: '*', '?', '[a-z]' and '\'.
//
// Matching never takes more than (length of the pattern) x (length of the name) steps: a star remembers one
// place to retry from, and a later star makes the earlier one's choice final.
//
// A name is a sequence of UTF-8 characters, '/' one like any other; a byte that isn't one counts as a
// character. A value; any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {

class NamePattern {
 public:
  // The error says what is wrong with the pattern, to be shown after the pattern itself.
  static std::expected<NamePattern, std::string> compile(std::string_view text);

  bool matches(std::string_view name) const;
  // Whether it has no wildcard, and so matches a single name.
  bool literal() const { return literal_; }

 private:
  struct Token {
    enum class Kind : unsigned char { character, any, run, set };
    Kind kind = Kind::character;
    char32_t character = 0;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges{};

    bool takes(char32_t c) const;
  };
  static std::expected<Token, std::string> compile_set(std::string_view text, std::size_t& at);

  bool literal_ = true;
  std::string text_;  // if it is literal, the name
  std::vector<Token> tokens_;
};

}  // namespace mcpivot
