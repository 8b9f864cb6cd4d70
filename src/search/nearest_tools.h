// Which tools a misspelled name was probably meant to be: for people at a terminal, and for models.
//
// Plain functions. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// "a", "a or b", "a, b or c"
std::string alternatives(const std::vector<std::string>& words);

// " Did you mean alpha__echo or beta__echo?"; empty if none is close enough. Names without their server's
// also count, and there may be several.
std::string did_you_mean_tool(std::string_view word, std::span<const std::string> tools);

}  // namespace mcpivot
