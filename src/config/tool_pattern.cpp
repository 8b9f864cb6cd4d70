#include "config/tool_pattern.h"

#include <algorithm>

#include "glob/braces.h"

namespace mcpivot {

std::expected<ToolPattern, std::string> ToolPattern::compile(std::string_view text) {
  const auto refuse = [text](std::string_view why) { return std::unexpected(bad_pattern(text, why)); };
  if (text.empty()) return refuse("it is empty; it must be a tool's name, or \"*\" for all");
  const auto spelled_out = expand_braces(text);
  if (!spelled_out) return refuse(spelled_out.error());
  ToolPattern pattern;
  for (const std::string& alternative : *spelled_out) {
    auto name = NamePattern::compile(alternative);
    if (!name) return refuse(name.error());
    pattern.alternatives_.push_back(std::move(*name));
  }
  return pattern;
}

bool ToolPattern::matches(std::string_view tool) const {
  return std::ranges::any_of(alternatives_, [&](const auto& pattern) { return pattern.matches(tool); });
}

}  // namespace mcpivot
