#include "watch/ignore_rules.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace mcpivot {
namespace {

constexpr std::string_view litter = R"(
*~
.*.sw[a-p]
.#*
\#*#
4913
___jb_tmp___
___jb_old___
.goutputstream-*
.DS_Store
__pycache__/
)";

constexpr std::size_t largest_file = 1024 * 1024;

std::string text_of(const std::filesystem::path& file) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) return "";
  return read_beginning(file, largest_file);
}

// "a/b" of "a/b/c", "" of "a".
std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Calls `visit` with "a", "a/b", "a/b/c" until it returns true.
template <class Visit>
bool any_step(std::string_view path, Visit&& visit) {
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
    if (visit(path.substr(0, slash))) return true;
  return !path.empty() && visit(path);
}

}  // namespace

IgnoreRules::IgnoreRules(std::string root) : root_(std::move(root)) {
  base_ = parse(litter);
  if (root_.empty()) return;
  std::filesystem::path top = root_;
  std::error_code failed;
  while (!std::filesystem::exists(top / ".git", failed)) {
    if (top == top.parent_path()) return;  // no repository: only what is in the root counts
    top = top.parent_path();
  }
  for (Rule& rule : parse(text_of(top / ".git" / "info" / "exclude"))) base_.push_back(std::move(rule));
  const std::filesystem::path below = std::filesystem::path(root_).lexically_relative(top);
  if (below == ".") return;
  prefix_ = below.string();
  set_full("", text_of(top / ".gitignore"));
  any_step(folder_of(prefix_), [&](std::string_view step) {
    set_full(std::string(step), text_of(top / step / ".gitignore"));
    return false;
  });
}

void IgnoreRules::read(std::string_view folder) {
  set(folder, text_of(std::filesystem::path(root_) / folder / ".gitignore"));
}

std::string IgnoreRules::full(std::string_view path) const {
  if (prefix_.empty() || path.empty()) return prefix_ + std::string(path);
  return prefix_ + "/" + std::string(path);
}

void IgnoreRules::set_full(const std::string& folder, std::string_view text) {
  Rules rules = parse(text);
  if (rules.empty())
    by_folder_.erase(folder);
  else
    by_folder_.insert_or_assign(folder, std::move(rules));
}

IgnoreRules::Rules IgnoreRules::parse(std::string_view text) {
  Rules rules;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const bool negated = line.starts_with('!');
    if (negated) line.remove_prefix(1);
    const bool folders_only = line.ends_with('/');
    if (folders_only) line.remove_suffix(1);
    const bool anchored = line.find('/') != std::string_view::npos;
    auto pattern = PathPattern::compile(line);
    if (!pattern) continue;  // git also treats it as a rule that never matches
    rules.push_back({std::move(*pattern), negated, folders_only, anchored, ++last_number_});
  }
  return rules;
}

bool IgnoreRules::Rule::hits(std::string_view path, bool is_folder) const {
  return (is_folder || !folders_only) && pattern.matches(anchored ? path : name_of(path));
}

// Calls `visit` with the rules that apply to a path, and the path relative to them, deepest first, until it
// returns true.
template <class Visit>
void IgnoreRules::each_level(std::string_view path, Visit&& visit) const {
  for (std::string_view folder = path; !folder.empty();) {
    folder = folder_of(folder);
    const auto found = by_folder_.find(folder);
    if (found == by_folder_.end()) continue;
    if (visit(found->second, path.substr(folder.empty() ? 0 : folder.size() + 1))) return;
  }
  visit(base_, path);
}

bool IgnoreRules::excludes(std::string_view path, bool is_folder, const Lifted& lifted) const {
  return prefix_.empty() ? excludes_full(path, is_folder, lifted)
                         : excludes_full(full(path), is_folder, lifted);
}

bool IgnoreRules::excludes_full(std::string_view path, bool is_folder, const Lifted& lifted) const {
  if (name_of(path) == ".git") return true;
  bool excluded = false;
  each_level(path, [&](const Rules& rules, std::string_view seen) {
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
      if (!rule->hits(seen, is_folder) || std::ranges::binary_search(lifted, rule->number)) continue;
      excluded = !rule->negated;
      return true;
    }
    return false;
  });
  return excluded;
}

bool IgnoreRules::ignores(std::string_view path, bool is_folder) const {
  return any_step(
      path, [&](std::string_view step) { return excludes(step, is_folder || step.size() < path.size()); });
}

IgnoreRules::Lifted IgnoreRules::lift_root() const {
  Lifted lifted;
  any_step(prefix_, [&](std::string_view step) {
    lift_full(step, lifted);
    return false;
  });
  return lifted;
}

IgnoreRules::Lifted IgnoreRules::lift(std::string_view folder, const Lifted& lifted) const {
  Lifted more = lifted;
  lift_full(full(folder), more);
  return more;
}

void IgnoreRules::lift_full(std::string_view folder, Lifted& lifted) const {
  each_level(folder, [&](const Rules& rules, std::string_view seen) {
    // "dist/*" hides the content of dist just as "dist/" does: it hides even a name that nobody would use.
    const std::string something_within = std::string(seen) + "/\x01";
    for (const Rule& rule : rules)
      if (!rule.negated && (rule.hits(seen, true) || (rule.anchored && rule.hits(something_within, false))))
        lifted.push_back(rule.number);
    return false;
  });
  std::ranges::sort(lifted);
  lifted.erase(std::ranges::unique(lifted).begin(), lifted.end());
}

}  // namespace mcpivot
