// Where mcpivot keeps its user's data: the folders of the XDG base directory specification, with "mcpivot"
// appended. An empty path means that there is no home directory.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

std::string state_folder();    // $XDG_STATE_HOME/mcpivot: logs, what was active
std::string cache_folder();    // $XDG_CACHE_HOME/mcpivot: what servers offered in their last run
std::string runtime_folder();  // $XDG_RUNTIME_DIR/mcpivot, else run/ in the state folder: sockets

// For what must be kept somewhere even without a home directory: a folder among the system's temporary files,
// where other users may write too. Made if it's missing. Empty: what is there isn't this user's alone.
std::string own_temporary_folder();

// Whether this is a folder, not a link to one, in which only this user can put something.
bool is_ours_alone(const std::string& folder);

}  // namespace mcpivot
