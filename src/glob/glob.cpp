#include "glob/glob.h"

#include <algorithm>

#include "glob/braces.h"

namespace mcpivot {
namespace {

// Without "./" and doubled slashes; "src/" means everything in src.
std::expected<std::string, std::string> normalised(std::string_view text) {
  if (text.starts_with('/'))
    return std::unexpected("it is absolute; write it relative to the server's working folder");
  std::string result;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name == "..") return std::unexpected("it leads out of the server's working folder with '..'");
    if (!name.empty() && name != ".") (result += result.empty() ? "" : "/") += name;
    rest = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  }
  if (text.ends_with('/') || (result.empty() && !text.empty())) result += result.empty() ? "**" : "/**";
  return result;
}

}  // namespace

std::expected<Glob, std::string> Glob::compile(std::string_view text) {
  const auto refuse = [text](std::string_view why) { return std::unexpected(bad_pattern(text, why)); };
  const auto spelled_out = expand_braces(text);
  if (!spelled_out) return refuse(spelled_out.error());
  Glob glob;
  glob.text_ = text;
  for (const std::string& alternative : *spelled_out) {
    auto plain = normalised(alternative);
    if (!plain) return refuse(plain.error());
    auto pattern = PathPattern::compile(*plain);
    if (!pattern) return refuse(pattern.error());
    if (pattern->ends_in_a_name()) glob.alternatives_.push_back(*PathPattern::compile(*plain + "/**"));
    glob.alternatives_.push_back(std::move(*pattern));
  }
  return glob;
}

bool Glob::matches(std::string_view path) const {
  return std::ranges::any_of(alternatives_, [&](const auto& pattern) { return pattern.matches(path); });
}

bool Glob::may_match_below(std::string_view folder) const {
  return std::ranges::any_of(alternatives_,
                             [&](const auto& pattern) { return pattern.may_match_below(folder); });
}

bool Glob::names(std::string_view path) const {
  return std::ranges::any_of(alternatives_, [&](const auto& pattern) { return pattern.names(path); });
}

}  // namespace mcpivot
