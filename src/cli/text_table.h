// Rows in columns for a terminal. What is too wide is cut, where a column allows it; then whole columns are
// left out, the least important first.
//
// Plain data. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mcpivot {

struct TextColumn {
  std::string title;
  bool left = true;       // otherwise right-aligned
  std::size_t least = 0;  // may be cut to this width; 0: never cut
  int leaves = 0;         // those with 1 are left out first; 0: never
};

using TextRow = std::vector<std::string>;  // a cell for each column

// Indented by two; without a width, as wide as needed. Columns with only empty cells are left out.
std::string text_table(std::vector<TextColumn> columns, std::vector<TextRow> rows,
                       std::optional<std::size_t> width);

}  // namespace mcpivot
