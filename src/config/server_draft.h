// Makes a server out of what was read for it, if that makes sense as a whole: exactly one of a command, a URL
// and a CLI, and nothing that belongs to another kind.
//
// One thread.
#pragma once

#include <span>
#include <string>

#include "config/key_reader.h"

namespace mcpivot {

// The name must be set. What doesn't make sense is reported; the entry counts only if there was no error.
ServerEntry finish_draft(Draft draft, const JsoncPlace& place, std::span<const KeyReader::Given> given,
                         const std::string& folder, const Surroundings& surroundings, ProblemList& problems);

}  // namespace mcpivot
