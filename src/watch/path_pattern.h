// One pattern for paths, of the kind that .gitignore files and watch globs have in common: '*', '?', '[a-z]'
// and '\' within a name, '**' for any number of folders.
//
// Matching never takes more than (length of the pattern) x (length of the path) steps: a star remembers one
// place to try again from, and a later star makes the earlier one's choice final.
//
// A name is a sequence of UTF-8 characters; a byte that is none counts as a character. Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {

class PathPattern {
 public:
  // The error says what is wrong with the pattern, to be put behind the pattern itself.
  static std::expected<PathPattern, std::string> compile(std::string_view text);

  // Paths are relative, with '/' between names and none at the ends.
  bool matches(std::string_view path) const { return matches(path, segments_.size()); }
  // Whether something within this folder can match.
  bool may_match_below(std::string_view folder) const;
  // Whether the pattern spells this path's last name out: "a/*/dist/**" names a/b/dist.
  bool names(std::string_view path) const;
  // Whether it names what it matches.
  bool ends_in_a_name() const { return segments_.back().literal; }

 private:
  struct Token {
    enum class Kind : unsigned char { character, any, run, set };
    Kind kind = Kind::character;
    char32_t character = 0;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges{};

    bool takes(char32_t c) const;
  };
  struct Segment {
    bool folders = false;  // "**"
    bool literal = false;  // no wildcard: text is the name
    std::string text{};
    std::vector<Token> tokens{};

    bool matches(std::string_view name) const;
  };
  static std::expected<Segment, std::string> compile_segment(std::string_view text);
  static std::expected<Token, std::string> compile_set(std::string_view text, std::size_t& at);
  bool matches(std::string_view path, std::size_t segments) const;

  std::vector<Segment> segments_;  // never empty
};

}  // namespace mcpivot
