#include "base/user_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace mcpivot {
namespace {

// The specification says to ignore relative paths in these variables.
std::string folder(const char* variable, const char* below_home) {
  if (const char* given = std::getenv(variable); given != nullptr && given[0] == '/')
    return std::string(given) + "/mcpivot";
  const char* home = std::getenv("HOME");
  if (below_home == nullptr || home == nullptr || home[0] != '/') return {};
  return std::string(home) + below_home + "/mcpivot";
}

}  // namespace

std::string state_folder() {
  return folder("XDG_STATE_HOME", "/.local/state");
}

std::string cache_folder() {
  return folder("XDG_CACHE_HOME", "/.cache");
}

std::string runtime_folder() {
  if (std::string given = folder("XDG_RUNTIME_DIR", nullptr); !given.empty()) return given;
  const std::string state = state_folder();
  return state.empty() ? state : state + "/run";
}

std::string own_temporary_folder() {
  std::error_code error;
  const std::filesystem::path all = std::filesystem::temp_directory_path(error);
  if (error) return {};
  const std::string folder = all / ("mcpivot-" + std::to_string(::geteuid()));
  ::mkdir(folder.c_str(), 0700);
  return is_ours_alone(folder) ? folder : std::string();
}

bool is_ours_alone(const std::string& folder) {
  struct stat found{};
  return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() &&
         (found.st_mode & 022U) == 0;
}

}  // namespace mcpivot
