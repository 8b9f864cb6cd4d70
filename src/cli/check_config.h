// `mcpivot check FILE`: says, for people, what a configuration file means, and every problem in it.
//
// One thread.
#pragma once

#include <string>

namespace mcpivot {

// An empty name: the file that would be found. Starts nothing. Returns the exit code: 1 if there are errors.
int check_config(const std::string& file);

}  // namespace mcpivot
