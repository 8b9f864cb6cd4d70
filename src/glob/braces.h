// Expands the braces of a pattern: "a{b,c{d,e}}" becomes ab, acd and ace. Path globs and patterns for tool
// names both have them.
//
// Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// Limits that no handwritten pattern comes near; they bound the cost of matching.
constexpr std::size_t longest_pattern = 1024;
constexpr std::size_t most_alternatives = 256;          // that braces may expand to
constexpr std::size_t longest_spelled_out = 16 * 1024;  // all alternatives together

// Escapes and sets stay as they are. The error says what is wrong with the pattern, to be shown after the
// pattern itself.
std::expected<std::vector<std::string>, std::string> expand_braces(std::string_view pattern);

// "bad pattern 'a{b': WHY", for a pattern that may be too long to show.
std::string bad_pattern(std::string_view pattern, std::string_view why);

}  // namespace mcpivot
