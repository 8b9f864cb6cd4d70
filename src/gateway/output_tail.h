// The last lines that a server printed, for mcpivot's own tools.
//
// One thread.
#pragma once

#include <string>
#include <string_view>

#include "server/instance.h"

namespace mcpivot {

struct OutputTail {
  int lines;
  int generation;            // 0: all
  std::string_view between;  // what precedes the lines of a generation
};

std::string output_tail(const Instance& server, const OutputTail& wanted);

}  // namespace mcpivot
