// What a tool does and which arguments it takes, for people at a terminal who want to call it by hand.
//
// Plain functions. Any thread.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <optional>
#include <string>

namespace mcpivot {

// "alpha__echo (inactive)  Answers with the text.": a line of a list, with its end.
std::string tool_line(const boost::json::object& tool);

// In full: the description, a line for each argument, what the server says about its effects, and how to call
// it. `tool` is as in the result of tools/list at the control socket.
std::string tool_help(const boost::json::object& tool, std::optional<std::size_t> width);

}  // namespace mcpivot
