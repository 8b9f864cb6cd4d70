// Packages for other ecosystems start mcpivot from a small script, which is then between the client and us.
// If the script is killed, nobody would know that we still run.
//
// One thread: main() calls it before there is another.
#pragma once

namespace mcpivot {

// If the environment says that a launcher started us (MCPIVOT_LAUNCHER, its pid), we get a SIGTERM when it
// ends. The variable is removed: our own children have another parent.
void end_with_launcher();

}  // namespace mcpivot
