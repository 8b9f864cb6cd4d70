// The arguments of mcpivot's own tools: reads them, and checks them against the tools' schemas. Models get
// types wrong, and an argument that is silently misread does the wrong thing.
//
// The schemas are our own, flat, with types only; the checker for those of CLIs (clitools/argument_check)
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
// An object as JSON text. A string that contains an object counts too: many models write nested arguments
// that way. Empty: not given.
std::string object_argument(std::string_view arguments, std::string_view key);

// Which argument is wrong, what is expected, what was given; empty: none. `properties` is the content of a
// schema's `properties`.
std::string wrong_argument(std::string_view properties, std::string_view arguments);

}  // namespace mcpivot
