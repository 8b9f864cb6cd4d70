// Fills in what a configuration takes from the environment: ${NAME} and ${NAME:-default}; $${NAME} is for
// text that keeps its dollar sign. Clients' own spellings also work, so that their files can be used
// unchanged: ${env:NAME}, ${userHome}, ${workspaceFolder}, ${workspaceFolderBasename}, ${pathSeparator} and
// ${/}.
//
// As in a shell, a variable that is set but empty takes the default, if there is one. The value of a variable
// is not expanded again. Any thread, if the lookup allows it.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/environment.h"

namespace mcpivot {

struct Surroundings {
  Variable variable{};
  std::string workspace{};  // the folder that a client would have open
};

// The error names the variable and says what to do; it contains no variable's value.
std::expected<std::string, std::string> fill_in(std::string_view text, const Surroundings& surroundings);

}  // namespace mcpivot
