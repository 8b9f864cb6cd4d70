// Files as a whole: where one lies, and what stands in it.
//
// Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>

namespace mcpivot {

// A path that doesn't depend on the working folder, as long as there is one: that folder may be deleted while
// mcpivot runs, and std::filesystem::absolute() throws then, or yields an empty path. Without a working
// folder, this is the path as it is, and nothing will be found there.
std::filesystem::path absolute_path(const std::filesystem::path& path);

// All that stands in a file, if it is no more than `limit` bytes. The error reads on from the file's name:
// "cannot be read: ...".
std::expected<std::string, std::string> read_small_file(const std::string& file, std::size_t limit);

}  // namespace mcpivot
