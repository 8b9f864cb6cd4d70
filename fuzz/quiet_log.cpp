// The log of a fuzz target: messages are formatted, as in the program, and kept nowhere. Without the logging
// library the targets build faster.
#include "log/log.h"

namespace mcpivot {

void set_up_log(const LogOptions&) {}
bool log_enabled(LogLevel) {
  return true;
}
void log_line(LogLevel, std::string_view) {}
void write_to_stderr(std::string_view) {}

}  // namespace mcpivot
