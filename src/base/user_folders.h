// Where mcpivot keeps things of its user's: the folders of the XDG base directory specification, each with a
// "mcpivot" of its own. An empty path: there is no home to put it in.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

std::string state_folder();    // $XDG_STATE_HOME/mcpivot: logs, what was active
std::string cache_folder();    // $XDG_CACHE_HOME/mcpivot: what servers said the last time
std::string runtime_folder();  // $XDG_RUNTIME_DIR/mcpivot, else run/ in the state folder: sockets

}  // namespace mcpivot
