// Which of a server's tools the user lets through: the patterns `allow` and `deny` of its entry.
//
// It fails closed: a pattern that doesn't compile lets nothing through. Reading the configuration refuses
// such a pattern before it gets here.
//
// Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/tool_pattern.h"

namespace mcpivot {

class ToolFilter {
 public:
  explicit ToolFilter(const ToolRules& rules);
  // By the server's own name for it.
  bool allows(std::string_view tool) const;
  // Whether there may be tools that it doesn't let through.
  bool restricts() const { return !all_allowed_ || !deny_.empty(); }

 private:
  static bool compile(const std::vector<std::string>& texts, std::vector<ToolPattern>& into);

  bool all_allowed_;
  std::vector<ToolPattern> allow_;
  std::vector<ToolPattern> deny_;
};

}  // namespace mcpivot
