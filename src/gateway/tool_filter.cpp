#include "gateway/tool_filter.h"

#include <algorithm>

namespace mcpivot {
namespace {

bool matches(const std::vector<ToolPattern>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const ToolPattern& pattern) { return pattern.matches(name); });
}

}  // namespace

ToolFilter::ToolFilter(const ToolRules& rules) : all_allowed_(!rules.allow) {
  const bool good = (!rules.allow || compile(*rules.allow, allow_)) && compile(rules.deny, deny_);
  if (good) return;
  all_allowed_ = false;
  allow_.clear();
}

bool ToolFilter::compile(const std::vector<std::string>& texts, std::vector<ToolPattern>& into) {
  for (const std::string& text : texts) {
    auto pattern = ToolPattern::compile(text);
    if (!pattern) return false;
    into.push_back(std::move(*pattern));
  }
  return true;
}

bool ToolFilter::allows(std::string_view tool) const {
  return (all_allowed_ || matches(allow_, tool)) && !matches(deny_, tool);
}

}  // namespace mcpivot
