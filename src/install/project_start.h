// The first configuration of a project: looks at what the project is made with, and proposes how its server
// is run, built and watched, with comments that explain each line.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

struct StartingConfig {
  std::string text{};
  std::string found{};  // "Cargo.toml (Rust)"; empty: nothing that is known
};

StartingConfig starting_config(const std::string& folder);

// One with no server in it yet.
std::string empty_config();

}  // namespace mcpivot
