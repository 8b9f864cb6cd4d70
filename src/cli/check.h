// `mcpivot check`: says, for people, what a configuration file means, or what a CLI's tools would be, and
// every problem in it.
#pragma once

#include "cli/options.h"

namespace mcpivot {

// Returns the exit code: 1 if there are mistakes.
int check(const Options& options);

}  // namespace mcpivot
