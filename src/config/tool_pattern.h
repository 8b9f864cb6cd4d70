// Which tools a pattern of `allow` or `deny` means: '*', '?', '[a-z]', '\' and braces, over the whole of a
// tool's own name. A name isn't a path: '*' also matches '/', and nothing is normalised.
//
// A value; any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "glob/name_pattern.h"

namespace mcpivot {

class ToolPattern {
 public:
  // The error names the pattern, what is wrong with it, and what to write instead.
  static std::expected<ToolPattern, std::string> compile(std::string_view text);

  bool matches(std::string_view tool) const;

 private:
  std::vector<NamePattern> alternatives_;
};

}  // namespace mcpivot
