#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>

namespace mcpivot {

bool Config::has_errors() const {
  return std::ranges::find(problems, Problem::Severity::error, &Problem::severity) != problems.end();
}

NameStyle Config::name_style(const ServerEntry& entry) const {
  if (entry.names) return *entry.names;
  if (names) return *names;
  return servers.size() + left_out.size() == 1 ? NameStyle::bare : NameStyle::prefixed;
}

std::string problem_text(const std::string& file, const Problem& problem) {
  const std::string place = problem.line == 0 ? "" : fmt::format(":{}:{}", problem.line, problem.column);
  const bool error = problem.severity == Problem::Severity::error;
  return fmt::format("{}{}: {}: {}", file, place, error ? "error" : "warning", problem.words);
}

}  // namespace mcpivot
