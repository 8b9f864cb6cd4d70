// The file that a server's code is in: where it lies, how old it is, and whether other processes that run it
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

// As far as the command tells: the program itself, or the script that an interpreter runs; empty if that
// cannot be known.
std::string own_file(const Command& command);

// What stands at a path now, links followed.
struct FileFacts {
  std::string path;
  Stamp stamp;
  std::chrono::system_clock::time_point modified() const;
  // "target/debug/dev, 1.2 MB, built 3 s ago"
  std::string text(std::chrono::system_clock::time_point now) const;
};
std::optional<FileFacts> look_at(const std::string& path);

// The program of which every process may be ended, with the server's: a file of the user's own, not one of
// the system's and no interpreter. Nothing: there is none such.
std::optional<FileFacts> stoppable_program(const Command& command);

}  // namespace mcpivot
