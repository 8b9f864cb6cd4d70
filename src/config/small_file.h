// Reads a whole file into memory, if it is not too large for that.
//
// Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

namespace mcpivot {

// The error reads on from the file's name: "cannot be read: ...".
std::expected<std::string, std::string> read_small_file(const std::string& file, std::size_t limit);

}  // namespace mcpivot
