// Opens an address in the user's browser, if there is one: what BROWSER says, else xdg-open where there is a
// display. No shell is involved, and what is started outlives us.
//
// One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"

namespace mcpivot {

// The command that would open it; nothing: no browser was found.
std::optional<std::vector<std::string>> browser_command(const std::string& url, const Variable& variable);

// False: nothing could be started.
bool open_browser(const std::string& url, const Variable& variable = own_variable);

}  // namespace mcpivot
