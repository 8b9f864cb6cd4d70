// mcpivot for many clients, over HTTP.
//
// One thread, the main one.
#pragma once

#include "app/run.h"
#include "proc/guard.h"

namespace mcpivot {

// Returns the exit code.
int serve(const Options& options, Guard& guard);

}  // namespace mcpivot
