// How a client is shown its servers. One server is shown as it is, as if mcpivot weren't there; several are
// shown behind a gateway, which has a handshake, names and switches of its own. Everything that depends on
// which of the two it is has a name here; a changed configuration can turn one into the other at any time.
//
// Plain data; any thread.
#pragma once

#include "config/config.h"

namespace mcpivot {

struct Presentation {
  // Tools, prompts and log messages are marked with the names of their servers.
  bool marks_names;
  // The client sees the server's own handshake; if it never sends `initialize`, everything it sends goes to
  // the server as it is. Otherwise its handshake is with mcpivot, with or without servers.
  bool shows_handshake;
  // Whatever mcpivot doesn't know (a method, a tool, a prompt, a resource), and the client's settings, go to
  // the server to decide. Otherwise mcpivot answers them.
  bool passes_through;
  // The client waits for the server: while it starts, and while it doesn't read. Otherwise no caller waits
  // for one of several servers: it is told at once.
  bool client_waits;
  // The model chooses: it activates and deactivates servers, searches for tools in all of them, and says
  // which one it means. Otherwise the server is always active.
  bool offers_choice;

  Naming naming() const { return marks_names ? Naming::prefixed : Naming::bare; }
  bool operator==(const Presentation&) const = default;
};

constexpr Presentation as_it_is{.marks_names = false,
                                .shows_handshake = true,
                                .passes_through = true,
                                .client_waits = true,
                                .offers_choice = false};

constexpr Presentation behind_gateway{.marks_names = true,
                                      .shows_handshake = false,
                                      .passes_through = false,
                                      .client_waits = false,
                                      .offers_choice = true};

// Shown as it is, but mcpivot handles what a server that doesn't know its clients can't: whose settings and
// tasks they are.
constexpr Presentation shared_alone{.marks_names = false,
                                    .shows_handshake = true,
                                    .passes_through = false,
                                    .client_waits = true,
                                    .offers_choice = false};

// A server that was left out because of errors counts: once they are fixed, there are several.
inline const Presentation& presentation_of(const GatewayConfig& config) {
  if (config.servers.size() != 1 || config.left_out > 0) return behind_gateway;
  return config.servers.front().server.sharing == Sharing::shared ? shared_alone : as_it_is;
}

}  // namespace mcpivot
