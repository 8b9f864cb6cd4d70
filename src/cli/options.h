// The command line, as plain data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gateway/control_tools.h"
#include "log/log.h"
#include "server/config.h"

namespace mcpivot {

struct Options {
  LogOptions log;
  ServerConfig server;
  Compat compat = Compat::none;
};

// What the command line asks for: to run with these options, or to print something and exit.
struct Invocation {
  bool run = false;
  Options options;
  int exit_code = 0;
  std::string out;  // for stdout
  std::string err;  // for stderr
};

Invocation parse_command_line(std::vector<std::string> arguments);

}  // namespace mcpivot
