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

  // Nothing: this file was never used.
  std::optional<std::set<std::string>> load() const;
  void save(const std::set<std::string>& active) const;

 private:
  Files& files_;
  std::string name_;  // empty: nothing is remembered
};

}  // namespace mcpivot
