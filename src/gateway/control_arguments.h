// The arguments of mcpivot's own tools: how they are read, and whether they are what the tools' schemas ask
// for. Models get types wrong, and what is taken for something else in silence does the wrong thing.
//
// The schemas are our own, flat and with types alone; the checker for those of CLIs (clitools/argument_check)
// would be a library for one comparison. `null` counts as not given.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// Empty: not given.
std::string text_argument(std::string_view arguments, std::string_view key);
int number_argument(std::string_view arguments, std::string_view key, int fallback);
// An object as JSON text. One that is spelled as a string is meant: many models write their nested arguments
// so. Empty: not given.
std::string object_argument(std::string_view arguments, std::string_view key);

// Which argument is wrong, what is wanted, what was given; empty: none. `properties` is the inside of a
// schema's `properties`.
std::string wrong_argument(std::string_view properties, std::string_view arguments);

}  // namespace mcpivot
