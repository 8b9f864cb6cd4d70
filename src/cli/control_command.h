// The commands that talk to a running mcpivot from a terminal: status, reload, restart, stop, logs, activate,
// deactivate, tools, call.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mcpivot {

// Runs the command if it is one of these, and returns the exit code: 0, 1 if what was asked for failed, 2 if
// it was asked for wrongly.
std::optional<int> run_control_command(const std::vector<std::string>& arguments);

}  // namespace mcpivot
