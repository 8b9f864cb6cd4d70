// Which of a client's servers can stand behind mcpivot, and how mcpivot's configuration writes them. Most
// are the same entry, byte for byte; some keys are called otherwise, and some servers only work in the
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
  bool as_spelled = true;                // it is the client's own spelling
  std::vector<std::string> left_out{};   // keys that only mean something to the client
  std::vector<std::string> variables{};  // of the environment, that the client must pass on
};

// `folder` is that of mcpivot's configuration. The error says why the server stays: "it ...".
std::expected<Imported, std::string> import_server(const Client& client, Scope scope,
                                                   const ClientServer& server, const std::string& folder);

// Whether two entries are the same server: clients add "type": "stdio" or an empty "env", which say nothing.
bool same_server(const JsoncValue& one, const JsoncValue& other);

// Whether the entry runs mcpivot.
bool runs_mcpivot(const JsoncValue& entry);

}  // namespace mcpivot
