#include "config/env_file.h"

#include <fmt/format.h>

#include "base/text.h"

namespace mcpivot {
namespace {

std::string unquoted(std::string_view value) {
  const bool single = value.size() >= 2 && value.starts_with('\'') && value.ends_with('\'');
  const bool twice = value.size() >= 2 && value.starts_with('"') && value.ends_with('"');
  if (!single && !twice) return std::string(trimmed(value.substr(0, value.find(" #"))));
  value = value.substr(1, value.size() - 2);
  if (single) return std::string(value);
  std::string result;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char next = i + 1 < value.size() ? value[i + 1] : '\0';
    if (value[i] == '\\' && (next == 'n' || next == '"' || next == '\\')) {
      result += next == 'n' ? '\n' : next;
      ++i;
    } else {
      result += value[i];
    }
  }
  return result;
}

}  // namespace

std::expected<EnvironmentList, std::string> parse_env_file(std::string_view text) {
  EnvironmentList list;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("export ")) line = trimmed(line.substr(7));
    if (line.empty() || line.starts_with('#')) continue;
    const auto equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || name.empty() || line.find('\0') != std::string_view::npos)
      return std::unexpected(fmt::format("line {} isn't NAME=VALUE", number));
    list.emplace_back(name, unquoted(trimmed(line.substr(equals + 1))));
  }
  return list;
}

}  // namespace mcpivot
