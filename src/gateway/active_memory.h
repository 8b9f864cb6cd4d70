// Which servers of a configuration file were active when it was last used, kept on disk for the next run.
//
// One thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "server/files.h"

namespace mcpivot {

class ActiveMemory {
 public:
  // For this configuration file; empty: nothing is remembered.
  ActiveMemory(Files& files, const std::string& config_file);

  // As they were when this object was created, or as it saved them last; what other mcpivots save in the
  // meantime doesn't count. Nothing: this file was never used.
  const std::optional<std::set<std::string>>& active() const { return active_; }
  void save(const std::set<std::string>& active);

 private:
  Files& files_;
  std::string name_;  // empty: nothing is remembered
  std::optional<std::set<std::string>> active_;
};

}  // namespace mcpivot
