// Colours for people at a terminal, and for nobody else.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// Whether stdout is a terminal that takes them, and nobody said NO_COLOR.
bool has_colours();

// The text in this colour (a number of ECMA-48's), where there are colours.
std::string coloured(std::string_view colour, std::string_view text);

}  // namespace mcpivot
