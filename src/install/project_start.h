// The first configuration of a project: looks at how the project is made, and proposes how to run, build and
// watch its server, with comments that explain each line.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

struct StartingConfig {
  std::string text{};
  std::string found{};  // "Cargo.toml (Rust)"; empty: nothing known
};

StartingConfig starting_config(const std::string& folder);

// A configuration without servers.
std::string empty_config();

}  // namespace mcpivot
