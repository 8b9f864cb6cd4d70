// A program and what it is started with, as data: nothing here starts it.
//
// Plain data; any thread, as long as none sets a variable.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace mcpivot {

struct Command {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH if it has no slash
  std::string cwd;                // empty: ours. A relative argv[0] with a slash starts from here
  std::vector<std::pair<std::string, std::string>> env;  // on top of our own environment
  bool own_env_only = false;  // inherits only what every program needs: PATH, HOME and the like
  bool operator==(const Command&) const = default;
};

// The path of a command's program. The error says where it was looked for.
std::expected<std::string, std::string> find_program(const Command& command);

// Our environment with the command's own variables on top, as "NAME=value".
std::vector<std::string> environment_of(const Command& command);

}  // namespace mcpivot
