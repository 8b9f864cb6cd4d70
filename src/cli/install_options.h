// The part of the command line that is about `install`, `uninstall` and `init`.
#pragma once

#include <functional>
#include <memory>

namespace CLI {
class App;
}

namespace mcpivot {

// Adds the subcommands. Once the command line is parsed, the result says what to do if one of them was given,
// and is empty otherwise.
std::function<std::function<int()>()> add_install_commands(CLI::App& app);

}  // namespace mcpivot
