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

std::string short_time_text(std::chrono::microseconds time) {
  const double ms = static_cast<double>(time.count()) / 1000;
  if (ms < 0.095) return fmt::format("{:.2f} ms", ms);
  if (ms < 9.95) return fmt::format("{:.1f} ms", ms);
  if (ms < 999.5) return fmt::format("{:.0f} ms", ms);
  return ms < 9'950 ? fmt::format("{:.1f} s", ms / 1000) : fmt::format("{:.0f} s", ms / 1000);
}

}  // namespace mcpivot
