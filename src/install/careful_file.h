// Reads and writes files that belong to somebody else: a link is followed to the file it leads to, a new text
// takes the old one's place at once or not at all, permissions stay, and a file that changed since it was
// read is not written over.
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
  mode_t mode = 0600;                 // to be written with
};

// `mode` is for a file that is not there yet.
std::expected<SeenFile, std::string> look_at_file(const std::string& path, mode_t mode);

enum class Backup : std::uint8_t { none, keep };

// Without a text: takes the file away. Keeps what was there as backup_name(), if there was something.
std::expected<void, std::string> change_file(const SeenFile& seen, const std::optional<std::string>& text,
                                             Backup backup);

std::string backup_name(const std::string& path);

}  // namespace mcpivot
