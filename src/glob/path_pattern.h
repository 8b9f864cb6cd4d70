// A pattern for paths, as in .gitignore files and watch globs: '*', '?', '[a-z]' and '\' within a name, '**'
// for any number of folders.
//
// Matching never takes more than (length of the pattern) x (length of the path) steps, for the reason given
// in NamePattern. Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "glob/name_pattern.h"

namespace mcpivot {

class PathPattern {
 public:
  // The error says what is wrong with the pattern, to be shown after the pattern itself.
  static std::expected<PathPattern, std::string> compile(std::string_view text);

  // Paths are relative, with '/' between names and none at the ends.
  bool matches(std::string_view path) const { return matches(path, segments_.size()); }
  // Whether something in this folder can match.
  bool may_match_below(std::string_view folder) const;
  // Whether the pattern spells out this path's last name: "a/*/dist/**" names a/b/dist.
  bool names(std::string_view path) const;
  // Whether it ends in a literal name rather than a wildcard.
  bool ends_in_a_name() const { return !segments_.back().folders && segments_.back().name.literal(); }

 private:
  struct Segment {
    bool folders = false;  // "**"
    NamePattern name{};
  };
  bool matches(std::string_view path, std::size_t segments) const;

  std::vector<Segment> segments_;  // never empty
};

}  // namespace mcpivot
