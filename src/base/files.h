// Whole files: their paths, reading, writing.
//
// Any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

namespace mcpivot {

// A path that doesn't depend on the working folder, as long as there is one: that folder may be deleted while
// mcpivot runs, and std::filesystem::absolute() throws then, or yields an empty path. Without a working
// folder, the path is returned unchanged, and nothing will be found there.
std::filesystem::path absolute_path(const std::filesystem::path& path);

// The content of a file of at most `limit` bytes. The error continues a sentence that begins with the file's
// name: "cannot be read: ...".
std::expected<std::string, std::string> read_small_file(const std::string& file, std::size_t limit);

// The first bytes of a file, `most` or fewer; none if it can't be read.
std::string read_beginning(const std::string& file, std::size_t most);

// False: not all of it was written, and errno says why.
bool write_all(int descriptor, std::string_view text);

struct Placing {
  mode_t mode = 0600;
  bool durable = false;      // survives a power cut
  std::string owner_from{};  // keeps the owner of this file, where that is allowed
};
// Writes a temporary file and renames it, which is atomic: readers see either the old text or the new one.
// The error continues a sentence that begins with the file's name.
std::expected<void, std::string> replace_file(const std::string& path, std::string_view text,
                                              const Placing& placing = {});

}  // namespace mcpivot
