// What is wrong with a command line that CLI11 rejects, in words for people.
//
// One thread.
#pragma once

#include <string>

namespace CLI {
class ParseError;
}

namespace mcpivot {

// "--swap: expected overlap or stop-first, got 'fast'"
std::string parse_error_text(const CLI::ParseError& error);

}  // namespace mcpivot
