// Which of a server's tools a client may see and call: what the server's entry allows (`tools`), restricted
// to what the client's profile allows (`granted`).
//
// A profile is about several servers: a pattern with "__" in it means SERVER__TOOL, any other a tool's own
// name. A denied pattern is tried both ways, so that no spelling gets past it.
//
// It fails closed: a pattern that doesn't compile lets nothing through. Reading the configuration refuses
// such a pattern before it gets here.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/tool_pattern.h"

namespace mcpivot {

class ToolFilter {
 public:
  explicit ToolFilter(const ServerEntry& entry);
  // By the server's own name for it.
  bool allows(std::string_view tool) const;
  // Whether there may be tools that it doesn't allow.
  bool restricts() const { return own_.restricts() || granted_.restricts(); }

 private:
  struct Pattern {
    ToolPattern pattern;
    bool qualified;  // begins with a server's name
  };
  using Patterns = std::vector<Pattern>;
  struct Rules {
    explicit Rules(const ToolRules& rules);
    bool restricts() const { return !all_allowed || !deny.empty(); }
    static bool compile(const std::vector<std::string>& texts, Patterns& into);

    bool all_allowed;
    Patterns allow;
    Patterns deny;
  };

  std::string prefix_;
  Rules own_;
  Rules granted_;
};

}  // namespace mcpivot
