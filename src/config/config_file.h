// Reads a configuration file: a client's "mcpServers", VS Code's "servers", or a bare map of servers, with
// the keys of keys.h. Whatever is wrong with the file, there is a result: the problems, and the servers that
// are all right.
//
// One thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/problem_list.h"
#include "config/variables.h"

namespace mcpivot {

enum class ServerKind : std::uint8_t { stdio, http, cli };
ServerKind kind_of(const ServerConfig& server);

// A server that the file names and that is not to be run.
struct LeftOut {
  std::string name;
  bool disabled = false;  // by the file's own wish; else there are errors in it
  JsoncPlace place{};
};

struct LoadedConfig {
  GatewayConfig gateway{};             // the servers in the file's order, only those without errors
  std::vector<JsoncMember> sources{};  // of each of those, as the file spells it: no variable is filled in
  std::vector<LeftOut> left_out{};
  std::vector<Problem> problems{};  // in the file's order

  bool has_errors() const;
};

// The environment is our own.
LoadedConfig load_config(const std::string& file);

// `folder` is where relative paths start, and absolute.
LoadedConfig read_config(std::string_view text, const std::string& folder, const Variable& variable);

// Which file to read: the one that was asked for, else ./mcpivot.json, else mcpivot/mcpivot.json in the
// user's configuration folder. The error says where it was looked for.
std::expected<std::string, std::string> find_config(const std::string& asked_for);

// Where the user's own configuration stands, or would: $XDG_CONFIG_HOME/mcpivot/mcpivot.json. Empty: there is
// no home.
std::string user_config(const Variable& variable);

}  // namespace mcpivot
