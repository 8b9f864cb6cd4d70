#include "search/nearest_tools.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/nearest.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_suggestions = 3;

std::string_view nearest_of(std::string_view word, std::span<const std::string> known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return nearest(word, views);
}

std::string own_name(const std::string& tool) {
  const auto separator = tool.find("__");
  return separator == std::string::npos ? tool : tool.substr(separator + 2);
}

}  // namespace

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

std::string did_you_mean_tool(std::string_view word, std::span<const std::string> tools) {
  std::vector<std::string> named;
  for (const std::string& tool : tools)
    if (own_name(tool) == word && named.size() < most_suggestions) named.push_back(tool);
  if (named.empty())
    if (const std::string_view whole = nearest_of(word, tools); !whole.empty()) named.emplace_back(whole);
  if (named.empty()) {
    std::vector<std::string> own;
    for (const std::string& tool : tools) own.push_back(own_name(tool));
    const std::string_view meant = nearest_of(word, own);
    for (std::size_t i = 0; i < own.size() && named.size() < most_suggestions; ++i)
      if (!meant.empty() && own[i] == meant) named.push_back(tools[i]);
  }
  return named.empty() ? std::string() : fmt::format(" Did you mean {}?", alternatives(named));
}

}  // namespace mcpivot
