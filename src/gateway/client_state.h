// All that mcpivot knows of one client and owes it, as plain data. It can be written down; a desk that is
// made from it goes on where the first one was.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "server/replay.h"

namespace mcpivot {

struct ClientState {
  struct OfServer {
    bool active = false;
    Replay::Memory replay;           // its settings, subscriptions and calls, for the next generation
    std::vector<std::string> tasks;  // as JSON spells their ids
    bool operator==(const OfServer&) const = default;
  };

  std::string hello;  // the params of its `initialize`, with its capabilities; empty: it has not come to that
  Era era = Era::legacy;
  std::string level;                         // its last logging/setLevel, a whole message
  std::string notices;                       // due to the model
  std::map<std::string, Naming> names_seen;  // how servers' tools were called, by the servers' names
  std::map<std::string, OfServer> servers;   // by name
  std::vector<std::string> questions;        // the ids of what servers asked it, and it has not answered
  bool operator==(const ClientState&) const = default;
};

std::string to_json(const ClientState& state);
// What is wrong with the text is an error, in words.
std::expected<ClientState, std::string> client_state_from(std::string_view json);

}  // namespace mcpivot
