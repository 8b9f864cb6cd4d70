#include "install/careful_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
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

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Under another name first; then the name is changed, which happens at once.
std::expected<void, std::string> put_in_place(const std::string& path, std::string_view text, mode_t mode,
                                              const std::string& owner_from) {
  std::string temporary = path + ".mcpivot-XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return failed(path, "cannot be written, because its folder cannot", errno);
  struct stat owner{};
  // A file of another user stays theirs, where that is allowed.
  if (::stat(owner_from.c_str(), &owner) == 0 && owner.st_uid != ::geteuid())
    if (::fchown(descriptor, owner.st_uid, owner.st_gid) != 0) errno = 0;
  const bool good =
      write_all(descriptor, text) && ::fchmod(descriptor, mode) == 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  ::close(descriptor);
  if (good && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int why = good ? errno : error;
  ::unlink(temporary.c_str());
  return failed(path, "cannot be written", why);
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
  if (error) return std::unexpected(fmt::format("{}: cannot be looked at: {}", path, error.message()));
  const fs::path target = fs::canonical(path, error);
  if (error)
    return std::unexpected(fmt::format("{}: is a link that leads nowhere; mend it or take it away", path));
  seen.path = target.string();
  struct stat status{};
  if (::stat(seen.path.c_str(), &status) != 0) return failed(seen.path, "cannot be looked at", errno);
  if (!S_ISREG(status.st_mode)) return std::unexpected(fmt::format("{}: is no file", seen.path));
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
        fmt::format("{}: was changed by somebody else just now, and is left alone; try again", seen.path));
  if (seen.text && ((seen.mode & 0222) == 0 || ::access(seen.path.c_str(), W_OK) != 0))
    return std::unexpected(
        fmt::format("{0}: is read-only, and is left alone; allow writing with: chmod u+w {0}", seen.path));
  std::error_code error;
  fs::create_directories(fs::path(seen.path).parent_path(), error);
  if (error)
    return std::unexpected(fmt::format("{}: its folder cannot be made: {}", seen.path, error.message()));
  if (backup == Backup::keep && seen.text)
    if (auto kept = put_in_place(backup_name(seen.path), *seen.text, seen.mode, seen.path); !kept)
      return kept;
  if (text) return put_in_place(seen.path, *text, seen.mode, seen.path);
  if (::unlink(seen.path.c_str()) != 0) return failed(seen.path, "cannot be taken away", errno);
  return {};
}

}  // namespace mcpivot
