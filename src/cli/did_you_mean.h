// What a misspelled word was probably meant to be: a command, an option, an argument; or a server's
// command without the "--" before it. For tools, see search/nearest_tools.h.
//
// Plain functions. Any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace mcpivot {

// " Did you mean read_file?"; empty if none is close enough.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

// What is wrong with the first word that fits nowhere, and what to write instead; empty: all fit. The words
// end before the "--", if there is one. `is_program` tells whether a word could be run.
std::string misplaced_word(const CLI::App& app, const std::vector<std::string>& words, bool has_dashes,
                           const std::function<bool(const std::string&)>& is_program);

// Whether it is a file, or the name of a program on the PATH.
bool names_a_program(const std::string& word);

}  // namespace mcpivot
