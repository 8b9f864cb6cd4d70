// What the core wants to know of files, and has kept in them: the program behind a command, and small texts
// for the next run. A file that can't be read or written counts as missing. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/command.h"
#include "server/executable.h"

namespace mcpivot {

class Files {
 public:
  virtual ~Files() = default;

  // The file that a server's code is in, as far as the command tells, as it is now.
  virtual std::optional<FileFacts> program_of(const Command& command) const = 0;
  // The program of which every process may be ended, with the server's (stoppable_program()).
  virtual std::optional<FileFacts> stoppable_program_of(const Command& command) const = 0;

  // What is kept in a cache may be thrown away, the oldest first; state stays.
  enum class Shelf : std::uint8_t { cache, state };
  // Nothing: it was never kept, or is too large to be ours.
  virtual std::optional<std::string> load(Shelf shelf, const std::string& name) const = 0;
  // Whoever reads it meanwhile sees the old text or the new one. False: it could not be kept.
  virtual bool save(Shelf shelf, const std::string& name, std::string_view text) = 0;
};

}  // namespace mcpivot
