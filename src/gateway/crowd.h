// The many clients of one mcpivot, as its operator sees them from a terminal: who they are, what they do, and
// their sessions. Clients themselves never see any of it.
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "base/era.h"
#include "server/ids.h"

namespace mcpivot {

// The name of all clients without a token.
constexpr const char* nameless = "anonymous";

struct ClientFacts {
  ClientId id{};
  std::string name;     // of its token, or `nameless`
  std::string profile;  // empty: none
  std::string session;  // the short id of a legacy one
  Era era = Era::legacy;
  std::string version;  // of the protocol; empty: no handshake yet
  std::string program;  // its own name and version
  std::chrono::milliseconds age{};
  std::chrono::milliseconds idle{};  // since its last request or answer
  std::size_t made = 0;              // calls, including those in flight
  std::size_t under_way = 0;         // calls
  std::size_t streams = 0;           // open
};

struct SessionFacts {
  std::string id;  // a short one, which is useless for connecting
  std::string name;
  std::string profile;
  std::string program;
  bool live = false;  // otherwise it is only in the store
  std::chrono::seconds age{};
  std::chrono::seconds idle{};
};

struct SessionList {
  std::vector<SessionFacts> sessions;  // last used first
  std::size_t left_out = 0;            // because there are too many
};

class Crowd {
 public:
  virtual ~Crowd() = default;

  // The newest first.
  virtual std::vector<ClientFacts> facts() const = 0;
  // "alice (1f3a9c02d4)"; empty: it is gone.
  virtual std::string label(ClientId client) const = 0;

  // `then` is called later.
  virtual void list_sessions(std::function<void(SessionList)> then) = 0;
  // Ends a session as its client would, by the beginning of its short id: it can't be resumed. The error says
  // what is wrong with the id, or that the end couldn't be recorded.
  virtual void end_session(const std::string& id,
                           std::function<void(std::expected<SessionFacts, std::string>)> then) = 0;
};

}  // namespace mcpivot
