// A command's output for people, and its exit code.
//
// One thread.
#pragma once

#include <cstdio>
#include <string>

namespace mcpivot {

// The exit code for an invalid command line.
inline constexpr int usage_error = 2;

// On standard output.
inline void say(const std::string& line) {
  std::fputs(line.c_str(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace mcpivot
