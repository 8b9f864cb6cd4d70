// `mcpivot install`, `uninstall` and `init`: what they do and print.
//
// One thread.
#pragma once

#include <string>
#include <vector>

#include "install/client_files.h"

namespace mcpivot {

struct InstallCommand {
  std::string what;  // a client, or "skill"; empty: list the clients
  Scope scope = Scope::user;
  std::string name = "mcpivot";
  bool import = false;
  bool dry_run = false;
};

// Each returns the exit code.
int install_command(const InstallCommand& command);
int uninstall_command(const InstallCommand& command);
int init_command(bool dry_run);

// The names that `what` can have.
std::vector<std::string> install_targets();

}  // namespace mcpivot
