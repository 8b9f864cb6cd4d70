#include "gateway/tool_filter.h"

#include <algorithm>

namespace mcpivot {

ToolFilter::Rules::Rules(const ToolRules& rules) : all_allowed(!rules.allow) {
  const bool good = (!rules.allow || compile(*rules.allow, allow)) && compile(rules.deny, deny);
  if (good) return;
  all_allowed = false;
  allow.clear();
}

bool ToolFilter::Rules::compile(const std::vector<std::string>& texts, Patterns& into) {
  for (const std::string& text : texts) {
    auto pattern = ToolPattern::compile(text);
    if (!pattern) return false;
    into.push_back({std::move(*pattern), text.find("__") != std::string::npos});
  }
  return true;
}

ToolFilter::ToolFilter(const ServerEntry& entry)
    : prefix_(entry.server.name + "__"), own_(entry.tools), granted_(entry.granted) {}

bool ToolFilter::allows(std::string_view tool) const {
  const auto own = [&](const Pattern& one) { return one.pattern.matches(tool); };
  if (!own_.all_allowed && std::ranges::none_of(own_.allow, own)) return false;
  if (std::ranges::any_of(own_.deny, own)) return false;
  if (!granted_.restricts()) return true;
  const std::string full = prefix_ + std::string(tool);
  const auto meant = [&](const Pattern& one) { return one.pattern.matches(one.qualified ? full : tool); };
  const auto either = [&](const Pattern& one) {
    return one.pattern.matches(tool) || one.pattern.matches(full);
  };
  return (granted_.all_allowed || std::ranges::any_of(granted_.allow, meant)) &&
         std::ranges::none_of(granted_.deny, either);
}

}  // namespace mcpivot
