// Which files a script is made of, as far as a glance tells: itself, and what lies next to it, or one folder
// below, in the same language. What a CLI that is a script is watched for when nobody says otherwise.
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

// Nothing: the command runs no script, or it cannot be known which.
std::optional<ScriptFiles> script_files(const Command& command);

}  // namespace mcpivot
