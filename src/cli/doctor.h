// `mcpivot doctor`: looks for what goes wrong in practice, and says what to do about each finding: the
// configuration, each server's start, the system's limits for watching files, clients that name mcpivot
// wrongly.
//
// Blocks. One thread.
#pragma once

#include <string>

namespace mcpivot {

// Returns the exit code: 0 if all is well, 1 if something isn't.
int doctor(const std::string& config_file);

}  // namespace mcpivot
