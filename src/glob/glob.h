// Which files to watch, as somebody wrote it after --watch: "src/**/*.{c,h}". A path pattern, plus braces; a
// folder's name stands for everything in it ("src", "src/").
//
// Relative to the watched folder, and within it. '*' also matches names that begin with a dot. A value; any
// thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "glob/path_pattern.h"

namespace mcpivot {

class Glob {
 public:
  // The error names the pattern, what is wrong with it, and what to write instead.
  static std::expected<Glob, std::string> compile(std::string_view text);

  const std::string& text() const { return text_; }
  bool matches(std::string_view path) const;
  // Whether something in this folder can match: for "src/*.c", only "" and "src" can, so nothing else needs
  // to be watched.
  bool may_match_below(std::string_view folder) const;
  // Whether the glob spells out this path's last name, rather than matching it with a wildcard.
  bool names(std::string_view path) const;

 private:
  std::string text_;
  std::vector<PathPattern> alternatives_;
};

}  // namespace mcpivot
