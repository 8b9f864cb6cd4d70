// The commands that talk to a running mcpivot from a terminal: status, reload, restart, stop, logs, activate,
// deactivate, tools, call, search, sessions.
//
// Blocks. One thread.
#pragma once

#include <string>
#include <vector>

namespace mcpivot {

// What the command line asked for.
struct ControlWish {
  std::string server;
  std::string instance;
  std::string tool;                  // for `tools`: or a server
  std::vector<std::string> words{};  // a call's arguments, or what to search for
  std::string folder = ".";          // where images and the like are saved
  std::string end;                   // which session
  bool all = false;                  // include those of other folders
  bool many = false;                 // only an mcpivot with many clients
  int lines = 50;
  int hits = 5;
  bool as_json = false;
  bool watch = false;
  bool build = false;
  bool follow = false;
};

// Runs `mcpivot NAME`. Returns 0, or 1 if that failed.
int control_command(const std::string& name, const ControlWish& wish);

// What running mcpivots have of that kind, for completions: SERVER, TOOL, PID, or ID of a session; and which
// arguments a tool takes ("ARGUMENT TOOL"). An mcpivot that doesn't answer is left out.
std::vector<std::string> running_names(const std::string& kind);

}  // namespace mcpivot
