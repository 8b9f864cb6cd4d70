// Which files a person wants watched, as they wrote it after --watch: "src/**/*.{c,h}". On top of a path
// pattern it has braces, and a folder's name stands for all that is in it ("src", "src/").
//
// Relative to the folder that is watched, and within it. '*' takes names that begin with a dot, too. A value;
// any thread.
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
  // Whether something within this folder can match: for "src/*.c" that is so for "" and "src" alone, so
  // nothing else needs to be watched.
  bool may_match_below(std::string_view folder) const;
  // Whether the glob spells this path's last name out, rather than taking it by a wildcard.
  bool names(std::string_view path) const;

 private:
  std::string text_;
  std::vector<PathPattern> alternatives_;
};

}  // namespace mcpivot
