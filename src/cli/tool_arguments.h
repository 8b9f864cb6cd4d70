// A tool's arguments as people type them: key=value words, converted to what the tool's schema asks for.
//
//   key=value    a string, number, boolean, … as the schema says
//   key=@file    what the file contains
//   key:=JSON    this very value
//   {…}          several at once, as they are
//
// Has no effects except reading files. Any thread.
#pragma once

#include <boost/json.hpp>
#include <expected>
#include <string>
#include <vector>

namespace mcpivot {

// The arguments, or what is wrong with a word. Without a schema, a value that looks like a number, a boolean,
// an array or an object is one.
std::expected<boost::json::object, std::string> tool_arguments(const std::vector<std::string>& words,
                                                               const boost::json::object* input_schema);

}  // namespace mcpivot
