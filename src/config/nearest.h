// Finds the word that somebody probably meant.
//
// Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace mcpivot {

// How many letters must be added, dropped, changed or swapped with their neighbour to get from one to the
// other. Capitals, '_' and '-' make no difference.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest one; empty if all are so different that naming one would be a guess.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace mcpivot
