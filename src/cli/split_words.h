// Splits a command that came as one text into its words, with the quotes of a shell and nothing else of it:
// no variables, no wildcards, no operators. The command is run without a shell.
//
// Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// 'literal', "with \" and \\", and a backslash before any other character. The error says which quote stays
// open.
std::expected<std::vector<std::string>, std::string> split_words(std::string_view text);

}  // namespace mcpivot
