#include "watch/selection.h"

#include <algorithm>

namespace mcpivot {

Selection::Scope Selection::start(const std::string& root) {
  rules_ = IgnoreRules(root);
  return Scope(globs_.size(), rules_.lift_root());
}

std::optional<Selection::Scope> Selection::enter(const Scope& parent, std::string_view folder) const {
  if (folder == ".git" || folder.ends_with("/.git")) return std::nullopt;
  Scope scope(globs_.size());
  bool wanted = false;
  for (std::size_t i = 0; i < globs_.size(); ++i) {
    if (!parent[i] || !globs_[i].may_match_below(folder)) continue;
    if (globs_[i].names(folder))
      scope[i] = rules_.lift(folder, *parent[i]);
    else if (!rules_.excludes(folder, true, *parent[i]))
      scope[i] = *parent[i];
    wanted = wanted || scope[i];
  }
  return wanted ? std::optional(std::move(scope)) : std::nullopt;
}

bool Selection::wants(const Scope& scope, std::string_view path) const {
  if (path == ".git" || path.ends_with("/.git")) return false;
  for (std::size_t i = 0; i < globs_.size(); ++i)
    if (scope[i] && globs_[i].matches(path) &&
        (globs_[i].names(path) || !rules_.excludes(path, false, *scope[i])))
      return true;
  return false;
}

bool Selection::names(std::string_view path) const {
  return std::ranges::any_of(globs_, [&](const Glob& glob) { return glob.names(path); });
}

}  // namespace mcpivot
