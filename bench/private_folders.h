// Where the programs under test keep their files: away from the user's own folders.
#pragma once

#include <cstdlib>
#include <filesystem>

// From now on, for this process and its children. Their caches are empty, so nothing is known from earlier
// runs.
inline void use_private_folders(const std::filesystem::path& folder) {
  for (const char* variable :
       {"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"})
    ::setenv(variable, folder.c_str(), 1);
  ::setenv("XDG_CACHE_HOME", "/dev/null", 1);
}
