// The file that contains a server's code: where it is, how old it is, and whether other processes that run it
// may be ended so that it can be overwritten.
//
// Any thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/command.h"
#include "base/stamp.h"

namespace mcpivot {

// A path as the command sees it, from its folder.
std::filesystem::path in_folder(const Command& command, const std::filesystem::path& path);

// The program itself, or the script that an interpreter runs, as far as the command shows; empty if unknown.
std::string own_file(const Command& command);

// The file at a path now, links followed.
struct FileFacts {
  std::string path;
  Stamp stamp;
  bool is_binary = true;  // else a script
  std::chrono::system_clock::time_point modified() const;
  // "target/debug/dev, 1.2 MB, built 3 s ago", "server.py, 4 kB, saved 3 s ago"
  std::string text(std::chrono::system_clock::time_point now) const;
};
std::optional<FileFacts> look_at(const std::string& path);
// Whether this is the same file as before; without a file, that isn't known.
bool looks_the_same(const std::optional<FileFacts>& now, const std::optional<FileFacts>& before);

// The program whose other processes may be ended along with the server's: a file of the user's own, not the
// system's and not an interpreter. Nothing if there is none.
std::optional<FileFacts> stoppable_program(const Command& command);

}  // namespace mcpivot
