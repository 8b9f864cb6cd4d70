// The commands that talk to a running mcpivot from a terminal: status, reload, restart, stop, logs, activate,
// deactivate, tools, call, sessions.
#pragma once

#include <string>
#include <vector>

namespace mcpivot {

// What the command line said.
struct ControlWish {
  std::string server;
  std::string instance;
  std::string tool;
  std::string arguments = "{}";
  std::string end;    // which session
  bool many = false;  // only an mcpivot with many clients is meant
  int lines = 50;
  bool as_json = false;
  bool watch = false;
  bool build = false;
  bool follow = false;
};

// Does what `mcpivot NAME` was asked to. Returns 0, or 1 if that failed.
int control_command(const std::string& name, const ControlWish& wish);

// What running mcpivots have of that kind, for completions: SERVER, TOOL, PID, or ID of a session. Who does
// not answer is left out.
std::vector<std::string> running_names(const std::string& kind);

}  // namespace mcpivot
