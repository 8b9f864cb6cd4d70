// How a tool's answer is shown at a terminal: text as it is, and images, audio and other bytes in files,
// whose paths are printed.
//
// Writes files into the given folder, and never overwrites one. One thread.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace mcpivot {

struct ShownAnswer {
  std::string text;                   // for stdout, with line ends
  std::vector<std::string> problems;  // what couldn't be saved, and why
};

// `tool` gives files their names: screenshot-1.png.
ShownAnswer show_answer(const boost::json::object& result, const std::string& tool,
                        const std::string& folder);

}  // namespace mcpivot
