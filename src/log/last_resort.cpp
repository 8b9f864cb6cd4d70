#include "log/last_resort.h"

#include "log/log.h"

namespace mcpivot {

void report_mistake(std::string_view where, const char* what) noexcept {
  try {
    log_warn("a bug in mcpivot, please report it: {}: {}", where, what);
  } catch (const std::exception&) {
    // There isn't even memory for the message.
    write_to_stderr("mcpivot: a bug that can't be described\n");
  }
}

}  // namespace mcpivot
