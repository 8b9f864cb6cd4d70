// The last lines of a server's stderr, for whoever asks with one of mcpivot's own tools.
//
// One thread.
#pragma once

#include <string>
#include <string_view>

#include "server/instance.h"

namespace mcpivot {

struct StderrTail {
  int lines;
  int generation;            // 0: all
  std::string_view between;  // what stands before the lines of a generation
};

std::string stderr_tail(const Instance& server, const StderrTail& wanted);

}  // namespace mcpivot
