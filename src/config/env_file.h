// Reads a file of environment variables, one NAME=VALUE per line, like the one that VS Code's "envFile"
// names.
//
// Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {

using EnvironmentList = std::vector<std::pair<std::string, std::string>>;

// Blank lines and those that begin with # are skipped, as is the word export. Quotes around a value are
// removed; within double quotes, \n, \" and \\ are as in JSON. No variables are expanded. The error names the
// line, but no value.
std::expected<EnvironmentList, std::string> parse_env_file(std::string_view text);

}  // namespace mcpivot
