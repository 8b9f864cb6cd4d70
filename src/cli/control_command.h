// The commands that talk to a running mcpivot from a terminal: status, reload, restart, stop, logs, activate,
// deactivate, tools, call.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mcpivot {

// Adds the subcommands. Once the command line is parsed, the result says what to do if one of them was given,
// and is empty otherwise. What it does returns 0, or 1 if what was asked for failed.
std::function<std::function<int()>()> add_control_commands(CLI::App& app);

// What running mcpivots have of that kind, for completions: SERVER, TOOL or PID. Who does not answer is left
// out.
std::vector<std::string> running_names(const std::string& kind);

}  // namespace mcpivot
