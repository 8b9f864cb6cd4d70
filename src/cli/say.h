// A line for people, on standard output.
#pragma once

#include <cstdio>
#include <string>

namespace mcpivot {

inline void say(const std::string& line) {
  std::fputs(line.c_str(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace mcpivot
