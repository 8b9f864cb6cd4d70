#include "gateway/tool_filter.h"

#include <algorithm>

namespace mcpivot {
namespace {

std::vector<Glob> compiled(const std::vector<std::string>& patterns) {
  std::vector<Glob> globs;
  for (const std::string& pattern : patterns)
    if (auto glob = Glob::compile(pattern)) globs.push_back(std::move(*glob));
  return globs;
}

bool matches(const std::vector<Glob>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const Glob& glob) { return glob.matches(name); });
}

}  // namespace

ToolFilter::ToolFilter(const ToolRules& rules) : allow_(compiled(rules.allow)), deny_(compiled(rules.deny)) {}

bool ToolFilter::allows(const std::string& tool) const {
  return (allow_.empty() || matches(allow_, tool)) && !matches(deny_, tool);
}

}  // namespace mcpivot
