// The command line, as plain data.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/run.h"

namespace mcpivot {

// What the command line asks for: run with these options, check a file or a CLI, or print something and
// exit.
struct Invocation {
  bool run = false;
  bool check = false;
  std::function<int()> instead{};  // a command of its own; returns the exit code
  Options options;
  int exit_code = 0;
  std::string out;  // for stdout
  std::string err;  // for stderr
};

Invocation parse_command_line(std::vector<std::string> arguments);

}  // namespace mcpivot
