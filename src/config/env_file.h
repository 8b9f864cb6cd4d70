// Reads a file of environment variables, a NAME=VALUE on each line, such as VS Code's "envFile" names.
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

// Blank lines and those that begin with # are skipped, as is the word export. Quotes around a value are taken
// off; between double quotes \n, \" and \\ mean what they mean in JSON. Nothing is filled in. The error names
// the line, and no value.
std::expected<EnvironmentList, std::string> parse_env_file(std::string_view text);

}  // namespace mcpivot
