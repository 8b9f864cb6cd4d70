// For the log: a text that may have URLs in it, without their queries, which may hold secrets. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// "open https://a.example/authorize?… in a browser"
std::string without_queries(std::string_view text);

}  // namespace mcpivot
