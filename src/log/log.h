// mcpivot's own log: a small rotating file, and, for warnings, stderr. stdout belongs to the
// protocol.
//
// This header hides the logging library, whose own headers would add seconds to the compilation of every
// file. One thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace mcpivot {

struct LogOptions {
  std::string file;  // empty: NAME.log under $XDG_STATE_HOME/mcpivot (or ~/.local/state/mcpivot)
  std::string level = "info";
  std::string name;  // whose log it is
};

// A log that can't be written is a warning, not a reason to turn a client away. Nothing is logged before this
// call.
void set_up_log(const LogOptions& options);
// Instead, each line from debug on is passed to this function; empty: nothing is logged.
void set_up_log(std::function<void(std::string_view)> print);

enum class LogLevel : std::uint8_t { trace, debug, info, warn };
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_trace(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::trace, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::warn, format, std::forward<Args>(args)...);
}

// Writes as much as stderr takes without blocking: if nobody reads it, that must not stop us.
void write_to_stderr(std::string_view text);

}  // namespace mcpivot
