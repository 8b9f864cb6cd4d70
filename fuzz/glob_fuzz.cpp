// Globs and path patterns, compared with a matcher that simply tries everything; and a glob never hides a
// folder in which something could match.
#include <algorithm>

#include "fuzz.h"
#include "glob/glob.h"
#include "glob/path_pattern.h"

namespace {

using namespace mcpivot;
using fuzz::check;

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) names.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return names;
}

// Where the set at the front of the pattern ends, and whether it has this character. Plain ASCII.
struct SetMatch {
  std::size_t length = 0;
  bool hit = false;
};
SetMatch match_set(std::string_view pattern, char c) {
  std::size_t at = 1;
  const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (negated) ++at;
  bool inside = false;
  auto member = [&] {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
    return pattern[at++];
  };
  for (bool first = true;; first = false) {
    if (pattern[at] == ']' && !first) break;
    const char from = member();
    char to = from;
    if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
      ++at;
      to = member();
    }
    inside = inside || (from <= c && c <= to);
  }
  return {at + 1, inside != negated};
}

bool name_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return name_matches(pattern.substr(1), name) || (!name.empty() && name_matches(pattern, name.substr(1)));
  if (name.empty()) return false;
  if (pattern[0] == '?') return name_matches(pattern.substr(1), name.substr(1));
  if (pattern[0] == '[') {
    const SetMatch set = match_set(pattern, name[0]);
    return set.hit && name_matches(pattern.substr(set.length), name.substr(1));
  }
  const std::size_t escape = pattern[0] == '\\' ? 1 : 0;
  return pattern[escape] == name[0] && name_matches(pattern.substr(escape + 1), name.substr(1));
}

bool path_matches(const std::vector<std::string>& pattern, std::size_t p,
                  const std::vector<std::string>& path, std::size_t at) {
  if (p == pattern.size()) return at == path.size();
  if (pattern[p] == "**") {
    // At the end, it matches everything within; a folder is not within itself.
    if (p + 1 == pattern.size()) return at < path.size();
    return path_matches(pattern, p + 1, path, at) ||
           (at < path.size() && path_matches(pattern, p, path, at + 1));
  }
  return at < path.size() && name_matches(pattern[p], path[at]) && path_matches(pattern, p + 1, path, at + 1);
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0 && c != '\n'; });
}

std::string joined(const std::vector<std::string>& names, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) (path += i == 0 ? "" : "/") += names[i];
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);  // a pattern, then paths
  const std::string_view text = input.settings;
  const auto pattern = PathPattern::compile(text);
  const auto glob = Glob::compile(text);
  if (!glob) check(!glob.error().empty(), "a refusal has a reason");
  // What the plain matcher may take is bounded here, not what ours may.
  const bool small = std::ranges::count(text, '*') <= 6;
  std::string_view rest = input.text;
  for (int i = 0; i < 8 && !rest.empty(); ++i) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const auto names = split(rest.substr(0, std::min<std::size_t>(end, 60)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (names.empty()) continue;
    const std::string path = joined(names, names.size());
    if (pattern && small && is_plain(text) && is_plain(path))
      check(pattern->matches(path) == path_matches(split(text), 0, names, 0), "it matches what trying finds");
    if (pattern && pattern->matches(path))
      for (std::size_t count = 0; count < names.size(); ++count)
        check(pattern->may_match_below(joined(names, count)), "no folder on the way is kept out");
    if (!glob) continue;
    if (glob->matches(path))
      for (std::size_t count = 0; count < names.size(); ++count)
        check(glob->may_match_below(joined(names, count)), "by a glob neither");
    glob->names(path);
    if (pattern && text.find_first_of("{}") == std::string_view::npos && !text.starts_with('/') &&
        !text.ends_with('/') && pattern->matches(path) && std::ranges::count(split(text), ".") == 0)
      check(glob->matches(path), "a glob matches what its pattern does");
  }
  return 0;
}
