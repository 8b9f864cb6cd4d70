#include "base/duration_text.h"

#include <fmt/format.h>

namespace mcpivot {

std::string duration_text(std::chrono::milliseconds duration) {
  if (duration.count() < 1000) return fmt::format("{} ms", duration.count());
  const double seconds = static_cast<double>(duration.count()) / 1000;
  if (seconds < 10) return fmt::format("{:.2g} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

}  // namespace mcpivot
