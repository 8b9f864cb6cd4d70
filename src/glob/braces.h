// Spells the braces of a pattern out: "a{b,c{d,e}}" is ab, acd and ace. Globs over paths and patterns for
// tool names have them in common.
//
// Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// Limits that no pattern written by hand comes near; they bound what matching can cost.
constexpr std::size_t longest_pattern = 1024;
constexpr std::size_t most_alternatives = 256;          // that braces may stand for
constexpr std::size_t longest_spelled_out = 16 * 1024;  // all alternatives together

// Escapes and sets stay as they are. The error says what is wrong with the pattern, to be put behind the
// pattern itself.
std::expected<std::vector<std::string>, std::string> expand_braces(std::string_view pattern);

// "bad pattern 'a{b': WHY", of a pattern that may be too long to show.
std::string bad_pattern(std::string_view pattern, std::string_view why);

}  // namespace mcpivot
