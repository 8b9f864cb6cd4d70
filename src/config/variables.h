// Fills in what a configuration leaves to the environment: ${NAME} and ${NAME:-default}, and $${NAME} for
// text that shall keep its dollar. So that files of clients work as they are, their spellings are known too:
// ${env:NAME}, ${userHome}, ${workspaceFolder}, ${workspaceFolderBasename}, ${pathSeparator} and ${/}.
//
// As in a shell, a variable that is set but empty takes the default, if there is one. What comes out of a
// variable is not looked at again. Any thread, as far as the lookup allows it.
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

// The error names the variable and says what to do; it holds no value of any variable.
std::expected<std::string, std::string> fill_in(std::string_view text, const Surroundings& surroundings);

}  // namespace mcpivot
