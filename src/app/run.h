// The program's main course: a client on our stdin and stdout, a server behind us, until one of them wants to
// end.
#pragma once

#include "config/config.h"
#include "log/log.h"

namespace mcpivot {

struct Options {
  LogOptions log;
  GatewayConfig gateway;
};

// SIGHUP means reload to a proxy, from its first moment on: main() holds it before it does anything else, and
// run() lets it through when it can take it. Other commands end with their terminal.
void hold_reload_signal(bool held);

// Returns the exit code.
int run(const Options& options);

}  // namespace mcpivot
