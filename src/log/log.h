// Where mcpivot's own words go: a small rotating file, and, for warnings, stderr. stdout belongs to the
// protocol. Code that has something to say calls spdlog directly; this only sets it up.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

struct LogOptions {
  std::string file;  // empty: NAME.log under $XDG_STATE_HOME/mcpivot (or ~/.local/state/mcpivot)
  std::string level = "info";
  std::string name;  // whose log it is
};

// A log that cannot be written is a warning, not a reason to turn a client away.
void set_up_log(const LogOptions& options);

// Writes as much as stderr takes without waiting: nobody may be reading it, and that must not stop us.
void write_to_stderr(std::string_view text);

}  // namespace mcpivot
