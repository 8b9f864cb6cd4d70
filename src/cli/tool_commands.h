// The commands for tools: `mcpivot tools`, `call` and `search`, and calls of mcpivot's own tools.
//
// Each talks to the running mcpivot that the wish means, and returns the exit code. Errors are thrown as a
// ControlError; a UsageError if the command line is wrong. Blocks. One thread.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "cli/control_command.h"
#include "control/control_client.h"

namespace mcpivot {

// The command line itself is wrong.
class UsageError : public ControlError {
 public:
  using ControlError::ControlError;
};

// A list, or one tool in detail.
int tools_command(const ControlWish& wish);
// The tools that fit the words, best first.
int search_command(const ControlWish& wish);
// Calls the tool that the wish names.
int call_command(const ControlWish& wish);
// Calls one of mcpivot's own tools.
int control_tool(const ControlWish& wish, const std::string& tool, const boost::json::object& arguments);

}  // namespace mcpivot
