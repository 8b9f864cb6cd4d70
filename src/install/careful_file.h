// Reads and writes files that belong to other programs: links are followed, a file is replaced
// atomically, its permissions are kept, and a file that changed since it was read isn't
// overwritten.
//
// Errors begin with the file's name and say what to do. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace mcpivot {

// A file as it was seen.
struct SeenFile {
  std::string path{};                 // where the text itself is, links resolved
  std::optional<std::string> text{};  // nothing: there is no such file
  mode_t mode = 0600;                 // for writing it
};

// `mode` is for a file that doesn't exist yet.
std::expected<SeenFile, std::string> look_at_file(const std::string& path, mode_t mode);

enum class Backup : std::uint8_t { none, keep };

// Without a text, deletes the file. Keeps the old content, if any, as backup_name().
std::expected<void, std::string> change_file(const SeenFile& seen, const std::optional<std::string>& text,
                                             Backup backup);

std::string backup_name(const std::string& path);

}  // namespace mcpivot
