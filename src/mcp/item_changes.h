// What is different between two definitions of one tool, prompt or resource, in few words: a model that is
// told only that `read_file` changed would have to read all of it again.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// "inputSchema: +limit, ~path; description": members that came (+), went (-) or are different, those of a
// schema and its properties by name. At most a few, then "…". Empty: nothing but the order or the spacing
// changed. Both are JSON objects.
std::string item_changes(std::string_view before, std::string_view after);

}  // namespace mcpivot
