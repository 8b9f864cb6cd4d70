#include "install/careful_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/files.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_client_file = 16UL * 1024 * 1024;

std::unexpected<std::string> failed(const std::string& path, std::string_view what, int error) {
  return std::unexpected(fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

// `owner_from`: the file whose owner it gets.
std::expected<void, std::string> put_in_place(const std::string& path, std::string_view text, mode_t mode,
                                              const std::string& owner_from) {
  const auto placed = replace_file(path, text, {.mode = mode, .durable = true, .owner_from = owner_from});
  if (!placed) return std::unexpected(fmt::format("{}: {}", path, placed.error()));
  return {};
}

}  // namespace

std::string backup_name(const std::string& path) {
  return path + ".mcpivot-backup";
}

std::expected<SeenFile, std::string> look_at_file(const std::string& path, mode_t mode) {
  SeenFile seen{.path = path, .text = {}, .mode = mode};
  std::error_code error;
  const auto itself = fs::symlink_status(path, error);
  if (itself.type() == fs::file_type::not_found) return seen;
  if (error) return std::unexpected(fmt::format("{}: can't be examined: {}", path, error.message()));
  const fs::path target = fs::canonical(path, error);
  if (error) return std::unexpected(fmt::format("{}: is a broken link; fix or remove it", path));
  seen.path = target.string();
  struct stat status{};
  if (::stat(seen.path.c_str(), &status) != 0) return failed(seen.path, "can't be examined", errno);
  if (!S_ISREG(status.st_mode)) return std::unexpected(fmt::format("{}: isn't a regular file", seen.path));
  seen.mode = status.st_mode & 07777;
  auto text = read_small_file(seen.path, longest_client_file);
  if (!text) return std::unexpected(fmt::format("{}: {}", seen.path, text.error()));
  seen.text = std::move(*text);
  return seen;
}

std::expected<void, std::string> change_file(const SeenFile& seen, const std::optional<std::string>& text,
                                             Backup backup) {
  if (text == seen.text) return {};
  const auto now = look_at_file(seen.path, seen.mode);
  if (!now) return std::unexpected(now.error());
  if (now->text != seen.text)
    return std::unexpected(
        fmt::format("{}: was changed by another program just now, and was left alone; try again", seen.path));
  if (seen.text && ((seen.mode & 0222) == 0 || ::access(seen.path.c_str(), W_OK) != 0))
    return std::unexpected(fmt::format(
        "{0}: is read-only, and was left alone; make it writable with: chmod u+w {0}", seen.path));
  std::error_code error;
  fs::create_directories(fs::path(seen.path).parent_path(), error);
  if (error)
    return std::unexpected(fmt::format("{}: its folder can't be created: {}", seen.path, error.message()));
  if (backup == Backup::keep && seen.text)
    if (auto kept = put_in_place(backup_name(seen.path), *seen.text, seen.mode, seen.path); !kept)
      return kept;
  if (text) return put_in_place(seen.path, *text, seen.mode, seen.path);
  if (::unlink(seen.path.c_str()) != 0) return failed(seen.path, "can't be removed", errno);
  return {};
}

}  // namespace mcpivot
