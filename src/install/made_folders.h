// The folders that must be created for a file, so that they can be removed again: only those, and only if
// they are empty.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

// The outermost folder that must be created for the file; empty: its folder exists.
std::string outermost_missing(const std::string& file);

// Removes the file's folder and its parents, up to the one that was outermost_missing(), as far as they are
// empty.
void remove_made_folders(const std::string& file, const std::string& outermost);

}  // namespace mcpivot
