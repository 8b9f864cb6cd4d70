#include "config/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace mcpivot {
namespace {

// A default may contain variables, whose defaults may contain variables…
constexpr int deepest = 8;

using Filled = std::expected<std::string, std::string>;

bool is_name(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// The '}' that closes the "${" at the beginning of the text.
std::size_t closing_brace(std::string_view text) {
  std::size_t open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) ++open;
    if (text[i] == '}' && --open == 0) return i;
  }
  return std::string_view::npos;
}

Filled fill(std::string_view text, const Surroundings& around, int depth);

// The value of what is between "${" and "}".
Filled value_of(std::string_view inside, const Surroundings& around, int depth) {
  if (inside == "/" || inside == "pathSeparator") return "/";
  if (inside == "workspaceFolder") return around.workspace;
  if (inside == "workspaceFolderBasename") return std::filesystem::path(around.workspace).filename().string();
  if (inside == "userHome") inside = "HOME";
  if (inside.starts_with("input:"))
    return std::unexpected(fmt::format(
        "mcpivot can't ask for ${{{}}}; set an environment variable, and write ${{ITS_NAME}}", inside));
  const std::string_view whole = inside;
  if (inside.starts_with("env:")) inside.remove_prefix(4);
  const auto colon = inside.find(":-");
  const std::string name(inside.substr(0, colon));
  if (!is_name(name))
    return std::unexpected(
        fmt::format("cannot read ${{{}}}; allowed are ${{NAME}} and ${{NAME:-default}}, and $${{ for a "
                    "literal dollar and brace",
                    whole));
  const char* value = around.variable(name.c_str());
  if (colon != std::string_view::npos) {
    if (value != nullptr && *value != '\0') return value;
    return fill(inside.substr(colon + 2), around, depth + 1);
  }
  if (value == nullptr)
    return std::unexpected(
        fmt::format("the environment variable {0} is not set; set it, or write ${{{0}:-default}}", name));
  return value;
}

Filled fill(std::string_view text, const Surroundings& around, int depth) {
  if (depth > deepest) return std::unexpected(fmt::format("defaults are nested more than {} deep", deepest));
  std::string result;
  while (true) {
    const auto dollar = text.find("${");
    if (dollar == std::string_view::npos) return result += text;
    if (dollar > 0 && text[dollar - 1] == '$') {
      (result += text.substr(0, dollar - 1)) += "${";
      text.remove_prefix(dollar + 2);
      continue;
    }
    result += text.substr(0, dollar);
    text.remove_prefix(dollar);
    const auto end = closing_brace(text);
    if (end == std::string_view::npos)
      return std::unexpected("a ${ without its }; write $${ for a literal dollar and brace");
    const Filled value = value_of(text.substr(2, end - 2), around, depth);
    if (!value) return value;
    result += *value;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Filled fill_in(std::string_view text, const Surroundings& surroundings) {
  return fill(text, surroundings, 0);
}

}  // namespace mcpivot
