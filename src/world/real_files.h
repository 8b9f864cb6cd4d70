// The real implementation of the core's files: programs on disk, and texts under $XDG_CACHE_HOME/mcpivot and
// $XDG_STATE_HOME/mcpivot, which only this user can read. Several mcpivots may use the same ones. One thread.
#pragma once

#include "server/files.h"

namespace mcpivot {

class RealFiles final : public Files {
 public:
  std::optional<FileFacts> program_of(const Command& command) const override;
  std::optional<FileFacts> stoppable_program_of(const Command& command) const override;
  std::optional<std::string> load(Shelf shelf, const std::string& name) const override;
  bool save(Shelf shelf, const std::string& name, std::string_view text) override;
};

}  // namespace mcpivot
