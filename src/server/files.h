// What the core needs from the file system: the program behind a command, and small texts kept for the next
// run. A file that can't be read or written counts as missing. One thread.
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

  // The file that contains a server's code, as far as the command shows, as it is now.
  virtual std::optional<FileFacts> program_of(const Command& command) const = 0;
  // The program whose processes may all be ended along with the server's (stoppable_program()).
  virtual std::optional<FileFacts> stoppable_program_of(const Command& command) const = 0;

  // A cache may lose entries, the oldest first; state stays.
  enum class Shelf : std::uint8_t { cache, state };
  // Nothing: it was never saved, or is too large to be ours.
  virtual std::optional<std::string> load(Shelf shelf, const std::string& name) const = 0;
  // Atomic: readers see the old text or the new one. False: it couldn't be saved.
  virtual bool save(Shelf shelf, const std::string& name, std::string_view text) = 0;
};

}  // namespace mcpivot
