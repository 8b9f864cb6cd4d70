// Reads a configuration file: a client's "mcpServers", VS Code's "servers", or a bare map of servers, with
// the keys of keys.h. There is always a result, whatever is wrong with the file: the problems, and the
// servers that are fine.
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

// A server that is in the file but isn't run.
struct LeftOut {
  std::string name;
  bool disabled = false;  // in the file; otherwise it has errors
  JsoncPlace place{};
};

struct LoadedConfig {
  GatewayConfig gateway{};             // the servers in the file's order, only those without errors
  std::vector<JsoncMember> sources{};  // each as the file spells it, without variables filled in
  std::vector<LeftOut> left_out{};
  std::vector<Problem> problems{};  // in the file's order

  bool has_errors() const;
};

// With our own environment.
LoadedConfig load_config(const std::string& file);

// `folder` is absolute; relative paths start there.
LoadedConfig read_config(std::string_view text, const std::string& folder, const Variable& variable);

// Which file to read: the one asked for, else ./mcpivot.json, else mcpivot/mcpivot.json in the user's
// configuration folder. The error says where it was looked for.
std::expected<std::string, std::string> find_config(const std::string& asked_for);

// Where the user's own configuration is, or would be: $XDG_CONFIG_HOME/mcpivot/mcpivot.json. Empty: there is
// no home directory.
std::string user_config(const Variable& variable);

}  // namespace mcpivot
