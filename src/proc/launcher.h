// Packages for other ecosystems start mcpivot from a small script, which then stands between the client and
// us. If that is killed, nobody would know of us any more.
#pragma once

namespace mcpivot {

// If the environment says that a launcher started us (MCPIVOT_LAUNCHER, its pid), its end is a SIGTERM for
// us. The variable is taken away: our own children have another parent.
void end_with_launcher();

}  // namespace mcpivot
