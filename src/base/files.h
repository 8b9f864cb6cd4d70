// Files as a whole: where one is, and what is in it.
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
// folder, this is the path as it is, and nothing will be found there.
std::filesystem::path absolute_path(const std::filesystem::path& path);

// All that is in a file, if it is no more than `limit` bytes. The error reads on from the file's name:
// "cannot be read: ...".
std::expected<std::string, std::string> read_small_file(const std::string& file, std::size_t limit);

// The first bytes of a file, `most` or fewer; none if it can't be read.
std::string read_beginning(const std::string& file, std::size_t most);

// False: errno tells why not all of it was written.
bool write_all(int descriptor, std::string_view text);

struct Placing {
  mode_t mode = 0600;
  bool durable = false;      // survives a power cut
  std::string owner_from{};  // a file of another user stays theirs, where that is allowed
};
// Writes it under another name first; then the name is changed, which happens at once: those who read the
// file meanwhile see the old text or the new one. The error reads on from the file's name.
std::expected<void, std::string> replace_file(const std::string& path, std::string_view text,
                                              const Placing& placing = {});

}  // namespace mcpivot
