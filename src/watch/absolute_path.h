// A path that doesn't depend on the working folder, as long as there is one: that folder may be deleted while
// mcpivot runs, and std::filesystem::absolute() throws then, or yields an empty path.
//
// Any thread.
#pragma once

#include <filesystem>
#include <system_error>

namespace mcpivot {

// Without a working folder, the path as it is, and nothing will be found there.
inline std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code no_folder;
  const std::filesystem::path absolute = std::filesystem::absolute(path, no_folder);
  return no_folder ? path : absolute;
}

}  // namespace mcpivot
