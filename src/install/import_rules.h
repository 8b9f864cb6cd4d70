// Which of a client's servers can move behind mcpivot, and what they look like in mcpivot's configuration.
// Most entries are the same, byte for byte; some keys have other names, and some servers only work in the
// client itself.
//
// Any thread.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "install/client_text.h"

namespace mcpivot {

struct Imported {
  std::string text{};                    // the value in mcpivot's configuration
  bool as_spelled = true;                // exactly as in the client's file
  std::vector<std::string> left_out{};   // keys that only mean something to the client
  std::vector<std::string> variables{};  // of the environment that the client must pass on
};

// `folder` is that of mcpivot's configuration. The error says why the server stays where it is: "it ...".
std::expected<Imported, std::string> import_server(const Client& client, Scope scope,
                                                   const ClientServer& server, const std::string& folder);

// Whether two entries are the same server: clients add "type": "stdio" or an empty "env", which mean nothing.
bool same_server(const JsoncValue& one, const JsoncValue& other);

// Whether the entry runs mcpivot.
bool runs_mcpivot(const JsoncValue& entry);

}  // namespace mcpivot
