#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mcpivot {

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code no_folder;
  const std::filesystem::path absolute = std::filesystem::absolute(path, no_folder);
  return no_folder ? path : absolute;
}

std::expected<std::string, std::string> read_small_file(const std::string& file, std::size_t limit) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return std::unexpected("is a folder; name the file in it");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::unexpected(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text;
  std::string piece(64UL * 1024, '\0');
  while (stream && text.size() <= limit) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) return std::unexpected("cannot be read to the end");
  if (text.size() > limit)
    return std::unexpected(fmt::format("is too large: at most {} bytes are read", limit));
  return text;
}

std::string read_beginning(const std::string& file, std::size_t most) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::expected<void, std::string> replace_file(const std::string& path, std::string_view text,
                                              const Placing& placing) {
  auto failed = [](std::string_view what, int error) {
    return std::unexpected(fmt::format("{}: {}", what, std::strerror(error)));
  };
  std::string draft = path + ".mcpivot-XXXXXX";
  const int descriptor = ::mkostemp(draft.data(), O_CLOEXEC);
  if (descriptor < 0) return failed("cannot be written because its folder cannot", errno);
  struct stat owner{};
  if (!placing.owner_from.empty() && ::stat(placing.owner_from.c_str(), &owner) == 0 &&
      owner.st_uid != ::geteuid())
    if (::fchown(descriptor, owner.st_uid, owner.st_gid) != 0) errno = 0;
  bool good = write_all(descriptor, text) && ::fchmod(descriptor, placing.mode) == 0 &&
              (!placing.durable || ::fsync(descriptor) == 0);
  int error = errno;
  if (::close(descriptor) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good && ::rename(draft.c_str(), path.c_str()) == 0) return {};
  if (good) error = errno;
  ::unlink(draft.c_str());
  return failed("cannot be written", error);
}

}  // namespace mcpivot
