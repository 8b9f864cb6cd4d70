// What is only for people at a terminal: colours, and non-ASCII characters of our own.
//
// Any thread, as long as none sets a variable.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

enum class Stream : int { out = 1, err = 2 };

// Whether it is a terminal that supports them, and NO_COLOR isn't set.
bool has_colours(Stream stream = Stream::out);

// The text in this colour (an ECMA-48 number), if there are colours.
std::string coloured(std::string_view colour, std::string_view text, Stream stream = Stream::out);

// Whether stdout is a terminal on which the cursor can be moved.
bool can_redraw();

// How many columns it takes, if each character takes one.
std::size_t columns_of(std::string_view utf8);

// The text in at most this many columns, with a mark where something was left out: an ellipsis, or "~" if the
// locale isn't UTF-8.
std::string shortened(std::string_view utf8, std::size_t columns);

}  // namespace mcpivot
