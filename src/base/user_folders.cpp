#include "base/user_folders.h"

#include <cstdlib>

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

}  // namespace mcpivot
