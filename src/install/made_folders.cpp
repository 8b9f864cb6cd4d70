#include "install/made_folders.h"

#include <filesystem>
#include <system_error>

namespace mcpivot {

namespace fs = std::filesystem;

std::string outermost_missing(const std::string& file) {
  std::error_code error;
  std::string missing;
  for (fs::path folder = fs::path(file).parent_path();
       folder.has_relative_path() && !fs::exists(folder, error); folder = folder.parent_path())
    missing = folder;
  return missing;
}

void remove_made_folders(const std::string& file, const std::string& outermost) {
  if (outermost.empty() || !file.starts_with(outermost + "/")) return;
  std::error_code error;
  for (fs::path folder = fs::path(file).parent_path(); fs::remove(folder, error) && !error;
       folder = folder.parent_path())
    if (folder == outermost) return;
}

}  // namespace mcpivot
