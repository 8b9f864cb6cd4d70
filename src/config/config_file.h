// Reads a configuration file: a client's "mcpServers", VS Code's "servers", or a bare map of servers, with
// the keys of keys.h. Always yields a Config; what is wrong with the file is among its problems, and the
// servers that are all right are there nevertheless.
//
// One thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/variables.h"

namespace mcpivot {

// The environment is our own.
Config load_config(const std::string& file);

// `folder` is where relative paths start, and absolute.
Config read_config(std::string_view text, const std::string& folder, const Variable& variable);

// Which file to read: the one that was asked for, else ./mcpivot.json, else mcpivot/mcpivot.json in the
// user's configuration folder. The error says where it was looked for.
std::expected<std::string, std::string> find_config(const std::string& asked_for);

// Where the user's own configuration stands, or would: $XDG_CONFIG_HOME/mcpivot/mcpivot.json. Empty: there is
// no home.
std::string user_config(const Variable& variable);

}  // namespace mcpivot
