#include "glob/path_pattern.h"

namespace mcpivot {
namespace {

constexpr std::size_t none = std::string_view::npos;

// Where the name after the one at this position begins, or npos.
std::size_t next_name(std::string_view path, std::size_t at) {
  const std::size_t slash = path.find('/', at);
  return slash == none ? none : slash + 1;
}

std::string_view name_at(std::string_view path, std::size_t at) {
  return path.substr(at, path.find('/', at) - at);
}

}  // namespace

std::expected<PathPattern, std::string> PathPattern::compile(std::string_view text) {
  PathPattern pattern;
  for (std::size_t at = 0; at != none; at = next_name(text, at)) {
    const std::string_view name = name_at(text, at);
    if (name.empty()) continue;
    if (name == "**") {
      const bool repeated = !pattern.segments_.empty() && pattern.segments_.back().folders;
      if (!repeated) pattern.segments_.push_back({.folders = true});
      continue;
    }
    auto compiled = NamePattern::compile(name);
    if (!compiled) return std::unexpected(compiled.error());
    pattern.segments_.push_back({.name = std::move(*compiled)});
  }
  if (pattern.segments_.empty()) return std::unexpected("it is empty");
  return pattern;
}

// The same walk as NamePattern's, with names for characters and '**' for '*'.
bool PathPattern::matches(std::string_view path, std::size_t segments) const {
  std::size_t segment = 0;
  std::size_t at = path.empty() ? none : 0;
  std::size_t star = none;
  std::size_t retry = 0;
  while (at != none) {
    if (segment < segments && segments_[segment].folders) {
      if (segment + 1 == segments) return true;
      star = segment++;
      retry = at;
      continue;
    }
    if (segment < segments && segments_[segment].name.matches(name_at(path, at))) {
      ++segment;
      at = next_name(path, at);
      continue;
    }
    if (star == none) return false;
    retry = next_name(path, retry);
    segment = star + 1;
    at = retry;
  }
  return segment == segments;
}

bool PathPattern::may_match_below(std::string_view folder) const {
  std::size_t segment = 0;
  for (std::size_t at = folder.empty() ? none : 0; at != none; at = next_name(folder, at), ++segment) {
    if (segment == segments_.size()) return false;
    if (segments_[segment].folders) return true;
    if (!segments_[segment].name.matches(name_at(folder, at))) return false;
  }
  return segment < segments_.size();
}

bool PathPattern::names(std::string_view path) const {
  for (std::size_t i = 0; i < segments_.size(); ++i)
    if (!segments_[i].folders && segments_[i].name.literal() && matches(path, i + 1)) return true;
  return false;
}

}  // namespace mcpivot
