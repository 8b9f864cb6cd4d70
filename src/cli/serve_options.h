// The options of `mcpivot serve`: many clients over HTTP.
//
// One thread.
#pragma once

#include <string>

#include "app/run.h"
#include "cli/server_options.h"

namespace mcpivot {

// For clients that connect over HTTP.
struct ServeTexts {
  ServeOptions options{};
  std::string session_idle{};
  std::string sharing{};
};

// Adds the command. `drain`: the text of --drain, which means more here than for a server alone.
CLI::App* add_serve_command(CLI::App& app, ServeTexts& texts, std::string& drain);

// What the texts mean. Throws CLI::ValidationError if a value is wrong, or if options don't go together.
ServeOptions serve_options(const ServeTexts& texts, const ServerTexts& server);

}  // namespace mcpivot
