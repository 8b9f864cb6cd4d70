// Decides who answers a client: today the one server there is; the gateway is the room for many.
//
// One thread.
#pragma once

#include <chrono>
#include <functional>

#include "gateway/session.h"
#include "server/server.h"

namespace mcpivot {

class Gateway {
 public:
  // The server must outlive the gateway.
  explicit Gateway(Server& server);

  void add(Session& session);

  void request(Asker& asker, const Message& message) { server_.request(asker, message); }
  void notify(const Message& message) { server_.notify(message); }
  void cancel(Asker& client, const Message& cancelled) { server_.cancel(client, cancelled); }

  bool full() const { return server_.full(); }
  // A client that was full reads again.
  void clients_writable() { server_.resume(); }

  // JSON-RPC batches are part of one protocol version only.
  bool batches_allowed() const { return server_.protocol_version() == "2025-03-26"; }

 private:
  Server& server_;
  std::vector<Session*> sessions_;
};

}  // namespace mcpivot
