// What is wrong with a command line that CLI11 rejects, in words for people.
//
// One thread.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class ParseError;
}

namespace mcpivot {

// "--swap: expected overlap or stop-first, got 'fast'". `unexpected`: the words that the parser had no use
// for.
std::string parse_error_text(const CLI::ParseError& error, const std::vector<std::string>& unexpected);

}  // namespace mcpivot
