// The program's main course: a client on our stdin and stdout, a server behind us, until one of them wants to
// end.
#pragma once

#include "cli/options.h"

namespace mcpivot {

// Returns the exit code.
int run(const Options& options);

}  // namespace mcpivot
