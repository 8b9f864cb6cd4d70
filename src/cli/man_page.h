// The man page, written from the same description of the command line as `--help`.
//
// One thread.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace mcpivot {

// In roff, with the macros of man(7).
std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace mcpivot
