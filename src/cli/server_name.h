// What to call a server that was given as a command line without a name: after the script or the package, not
// after the "node" or "npx" that runs it. The server's own name (serverInfo.name) is known only after its
// handshake, and the log file needs one before that.
//
// Any thread.
#pragma once

#include <string>

#include "base/command.h"

namespace mcpivot {

// argv must not be empty.
std::string server_name(const Command& command);

}  // namespace mcpivot
