// `mcpivot check`: which of its two kinds is meant, a configuration file (check_config.h) or a CLI, whose
// tools and mistakes it prints.
//
// Blocks. One thread.
#pragma once

#include "cli/options.h"

namespace mcpivot {

// Returns the exit code: 1 if there are mistakes.
int check(const Options& options);

}  // namespace mcpivot
