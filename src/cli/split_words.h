// Splits a command that is one string into its words, with a shell's quoting but nothing else: no variables,
// no wildcards, no operators. The command is run without a shell.
//
// Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// 'literal', "with \" and \\", and a backslash before any other character. The error says which quote isn't
// closed.
std::expected<std::vector<std::string>, std::string> split_words(std::string_view text);

}  // namespace mcpivot
