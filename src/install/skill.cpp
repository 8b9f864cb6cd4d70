#include "install/skill.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "install/careful_file.h"
#include "install/made_folders.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

constexpr const char* nothing_changed = "Nothing was changed.";

std::string kept_file(const Places& places) {
  return places.data_home() + "/mcpivot/skill/SKILL.md";
}

// A file that a package installs next to the program is also ours; the package updates it.
std::string packaged_file(const std::string& program) {
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  const fs::path file = real.parent_path().parent_path() / "share/mcpivot/skill/SKILL.md";
  return !error && fs::exists(file, error) ? file.string() : std::string();
}

std::string linked_file(const Places& places) {
  return places.folder_of("CLAUDE_CONFIG_DIR", "/.claude") + "/skills/mcpivot/SKILL.md";
}

bool is_link(const std::string& path) {
  std::error_code error;
  return fs::is_symlink(fs::symlink_status(path, error));
}

// Whether the link points to a file of ours, which may be gone.
bool is_our_link(const std::string& link, const Places& places) {
  std::error_code error;
  const std::string target = fs::read_symlink(link, error).string();
  return !error && (target == kept_file(places) || target.ends_with("/share/mcpivot/skill/SKILL.md"));
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

}  // namespace

SkillResult install_skill(const Places& places, const std::string& program, bool dry_run) {
  if (places.home().empty()) return std::unexpected("HOME is not set, so your skills can't be found; set it");
  const std::string link = linked_file(places);
  const std::string packaged = packaged_file(program);
  const std::string target = packaged.empty() ? kept_file(places) : packaged;
  if (exists(link) && !(is_link(link) && is_our_link(link, places)))
    return std::unexpected(fmt::format(
        "{}: it isn't mcpivot's, and was left alone; remove it and try again\n{}", link, nothing_changed));
  std::vector<std::string> lines{fmt::format("Claude Code's skill /mcpivot: {}", link),
                                 fmt::format("  links to  {}", target)};
  if (dry_run) return lines;
  const std::string made_for_link = outermost_missing(link);
  const std::string made_for_target = outermost_missing(target);
  SeenFile before;
  auto failed = [&](const std::string& why) {
    SeenFile now = before;
    now.text = skill_text();
    const bool undone = before.path.empty() || change_file(now, before.text, Backup::none).has_value();
    remove_made_folders(link, made_for_link);
    remove_made_folders(target, made_for_target);
    return std::unexpected(fmt::format(
        "{}\n{}", why,
        undone ? nothing_changed : fmt::format("{} was written, and could not be removed again.", target)));
  };
  if (packaged.empty()) {
    auto seen = look_at_file(target, 0644);
    if (!seen) return failed(seen.error());
    if (const auto written = change_file(*seen, std::string(skill_text()), Backup::none); !written)
      return failed(written.error());
    before = std::move(*seen);
  }
  std::error_code error;
  fs::create_directories(fs::path(link).parent_path(), error);
  // Under another name first, so that a skill in use is never missing.
  const std::string draft = link + ".mcpivot-new";
  if (!error) fs::remove(draft, error);
  if (!error) fs::create_symlink(target, draft, error);
  if (!error) fs::rename(draft, link, error);
  if (error) return failed(fmt::format("{}: the link can't be created: {}", link, error.message()));
  return lines;
}

SkillResult uninstall_skill(const Places& places, bool dry_run) {
  const std::string link = linked_file(places);
  if (!exists(link)) return std::vector<std::string>{fmt::format("There is no skill at {}", link)};
  if (!is_link(link) || !is_our_link(link, places))
    return std::unexpected(
        fmt::format("{}: it isn't mcpivot's, and was left alone\n{}", link, nothing_changed));
  std::vector<std::string> lines{fmt::format("Claude Code's skill /mcpivot: {}", link),
                                 "  removes   the link"};
  if (dry_run) return lines;
  std::error_code error;
  std::error_code ignored;
  fs::remove(link, error);
  if (error)
    return std::unexpected(
        fmt::format("{}: can't be removed: {}\n{}", link, error.message(), nothing_changed));
  fs::remove(fs::path(link).parent_path(), ignored);  // only if nothing else is in it
  fs::remove(kept_file(places), ignored);
  remove_made_folders(kept_file(places), places.data_home() + "/mcpivot");
  return lines;
}

void refresh_kept_skill(const Places& places) {
  const auto seen = look_at_file(kept_file(places), 0644);
  if (!seen || !seen->text || *seen->text == skill_text()) return;
  // If it can't be written, the older one will do for now.
  if (!change_file(*seen, std::string(skill_text()), Backup::none)) return;
}

}  // namespace mcpivot
