#include "front/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// As systemd passes what a unit loads with LoadCredential=: owned by root, with an ACL of who else may read
// it. The rights in the ACL show up as those of the group.
bool is_handed_over_by_root(const struct stat& file) {
  return file.st_uid == 0 && file.st_gid == 0 && (file.st_mode & 037U) == 0;
}

}  // namespace

std::string why_not_private(const std::string& path, const struct stat& file, uid_t reader) {
  if (!S_ISREG(file.st_mode)) return "isn't a regular file";
  if (reader != 0 && is_handed_over_by_root(file)) return {};
  if (file.st_uid != reader)
    return fmt::format("belongs to another user (uid {}; mcpivot runs as uid {}); run: chown {} {}",
                       file.st_uid, reader, reader, path);
  if ((file.st_mode & 077U) != 0)
    return fmt::format("is open to other users (mode {:04o}); run: chmod 600 {}", file.st_mode & 07777U,
                       path);
  return {};
}

SecretText::~SecretText() {
  if (bytes_) OPENSSL_cleanse(bytes_.get(), room_);
}

std::expected<SecretText, PrivateFileError> read_private_file(const std::string& path, std::size_t limit) {
  const auto failed = [&](std::string_view words) {
    return std::unexpected(PrivateFileError{.words = fmt::format("{} {}", path, words)});
  };
  // Nonblocking: opening a pipe would wait for a writer.
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (opened.number() < 0)
    return std::unexpected(
        PrivateFileError{.missing = errno == ENOENT,
                         .words = fmt::format("{} can't be read: {}", path, std::strerror(errno))});
  struct stat file{};
  if (::fstat(opened.number(), &file) != 0)
    return failed(fmt::format("can't be read: {}", std::strerror(errno)));
  if (const std::string why = why_not_private(path, file, ::geteuid()); !why.empty()) return failed(why);
  const auto size = static_cast<std::size_t>(file.st_size);
  if (size > limit) return failed(fmt::format("is too large: at most {} bytes are read", limit));
  SecretText text(size + 1);  // one byte more than expected: it may be growing
  std::size_t got = 0;
  while (got < text.room()) {
    const ssize_t piece = ::read(opened.number(), text.data() + got, text.room() - got);
    if (piece < 0 && errno == EINTR) continue;
    if (piece < 0) return failed(fmt::format("can't be read: {}", std::strerror(errno)));
    if (piece == 0) break;
    got += static_cast<std::size_t>(piece);
  }
  if (got != size) return failed("was changed while it was being read; try again");
  text.resize(got);
  return text;
}

bool make_private_folder(const std::string& path_of_file) {
  const fs::path folder = fs::path(path_of_file).parent_path();
  if (folder.empty()) return true;
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

bool place_new_file(const std::string& draft, const std::string& path) {
  bool placed = ::link(draft.c_str(), path.c_str()) == 0;
  if (!placed && errno != EEXIST)  // not every file system has hard links
    placed = ::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0;
  const int error = errno;
  ::unlink(draft.c_str());
  errno = error;
  return placed;
}

Lines::Lines(std::string_view text) : rest_(text) {
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
}

bool Lines::next() {
  while (!rest_.empty()) {
    const auto end = rest_.find('\n');
    line_ = trimmed(rest_.substr(0, end));
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    if (!line_.empty() && !line_.starts_with('#')) return true;
  }
  return false;
}

std::string_view Lines::word() {
  const std::string_view found = line_.substr(0, line_.find_first_of(" \t"));
  if (found.starts_with('#')) {
    line_ = {};
    return {};
  }
  line_ = trimmed(line_.substr(found.size()));
  return found;
}

}  // namespace mcpivot
