// The folders that have to be made for a file, so that they can be taken away again: those and no others, and
// only while they are empty.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

// The outermost folder that must be made for the file; empty: its folder is there.
std::string outermost_missing(const std::string& file);

// Takes the file's folder away, and those around it up to the one that was outermost_missing(), as far as
// nothing is in them.
void remove_made_folders(const std::string& file, const std::string& outermost);

}  // namespace mcpivot
