// Which of a server's tools the user lets through: the globs `allow` and `deny` of its entry.
//
// Any thread.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "watch/glob.h"

namespace mcpivot {

class ToolFilter {
 public:
  explicit ToolFilter(const ToolRules& rules);
  bool allows(const std::string& tool) const;

 private:
  std::vector<Glob> allow_;  // none: all
  std::vector<Glob> deny_;
};

}  // namespace mcpivot
