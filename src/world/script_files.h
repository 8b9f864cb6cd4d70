// Which files probably make up a script: the script itself, and files in the same language next to it or one
// folder below. These are watched by default for a CLI that is a script.
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"

namespace mcpivot {

struct ScriptFiles {
  std::string folder;
  std::vector<std::string> globs;  // relative to it
};

// Nothing: the command doesn't run a script, or we can't tell which.
std::optional<ScriptFiles> script_files(const Command& command);

}  // namespace mcpivot
