// All that mcpivot knows about one client and owes it, as plain data. It can be stored; a desk that is
// created from it continues where the first one was.
//
// Any thread.
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

  std::string hello;  // the params of its `initialize`, with its capabilities; empty: not sent yet
  Era era = Era::legacy;
  std::string level;                         // its last logging/setLevel, a whole message
  std::string notices;                       // that the model has yet to get
  std::map<std::string, Naming> names_seen;  // how each server's tools were named, by server
  std::map<std::string, OfServer> servers;   // by name
  std::vector<std::string> questions;        // the ids of servers' questions that it has not answered
  bool operator==(const ClientState&) const = default;
};

std::string to_json(const ClientState& state);
// The error says what is wrong with the text.
std::expected<ClientState, std::string> client_state_from(std::string_view json);

}  // namespace mcpivot
