// The difference between two definitions of a tool, prompt or resource, in a few words: a model that is told
// only that `read_file` changed would have to read the whole definition again.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// "inputSchema: +limit, ~path; description": members that were added (+), removed (-) or changed (~), those
// of a schema and its properties by name. At most a few, then "…". Empty: only the order or the spacing
// changed. Both are JSON objects.
std::string item_changes(std::string_view before, std::string_view after);

}  // namespace mcpivot
