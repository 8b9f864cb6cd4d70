// Lets clients of one protocol era use a server of the other. It sits between a generation and the link to
// its server, acting as a server of the clients' era to the one and as a client of the server's era to the
// other. If both are of one era there is no bridge: bytes pass unchanged.
//
// The generation has given every request an id of its own (a number) before it comes here, and expects one
// answer to each under that id. Requests that the bridge itself makes have strings as ids, so the two never
// clash. Messages that are already of the server's era pass unchanged.
//
// It has no timers of its own: its owner calls expire() now and then, and wake() when asked to. One
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class Bridge {
 public:
  // The two sides that it connects.
  class Ends {
   public:
    virtual ~Ends() = default;
    // Sends this to the server.
    virtual void to_server(const Message& message, std::span<const Edit> edits) = 0;
    virtual void to_server(std::string_view line) = 0;
    // The generation gets this as if the server had sent it. Message and edits are valid during the call, in
    // which the generation may send the next message.
    virtual void to_client(const Message& message, std::span<const Edit> edits) = 0;
    // The same for a question to this client, or its withdrawal: no other client may see it.
    virtual void ask(std::uint64_t /*client*/, const Message& message) { to_client(message, {}); }
    // How this client introduced itself (the params of its `initialize`), if several share the server. Empty:
    // it didn't, or there is only one.
    virtual std::string_view hello_of(std::uint64_t /*client*/) const { return {}; }
    // Log output of the server that is for no client: it goes where its stderr goes.
    virtual void keep_log(std::string_view line) = 0;
    // Call wake() after this time; replaces an earlier request.
    virtual void wake_bridge(std::chrono::milliseconds after) = 0;
    // An unguessable text of letters and digits.
    virtual std::string secret() = 0;
  };

  virtual ~Bridge() = default;

  // What the generation sends: requests, notifications, cancellations, and answers to what the server asked.
  // `client` distinguishes the clients that share the server: a waiting call can be continued only by the one
  // that made it. 0: it is our own.
  virtual void from_client(const Message& message, std::span<const Edit> edits, std::uint64_t client) = 0;
  void from_client(const Message& message, std::span<const Edit> edits) { from_client(message, edits, 0); }
  virtual void from_server(const Message& message) = 0;
  // A request to the server, with this id as JSON text, won't be answered. Returns the generation's id for
  // it; empty if it has none, and no caller needs to be told.
  virtual std::string lost(std::string_view id) = 0;
  // The protocol version used with the server, as JSON text, if it isn't fixed; empty: not known.
  virtual std::string_view version() const { return {}; }
  // Gives up calls that have waited too long for their client.
  virtual void expire() {}
  virtual void wake() {}
  // A client is gone: gives up what waits for it.
  virtual void forget(std::uint64_t /*client*/) {}
  // False: there are calls that the generation doesn't know about, because they wait for their clients.
  virtual bool idle() const { return true; }
  // Whether a request with this requestState (JSON text) continues a call that waits here.
  virtual bool has_parked(std::string_view /*request_state*/) const { return false; }
  // The requestStates (values) of all calls that wait here.
  virtual std::vector<std::string> parked_states() const { return {}; }
};

}  // namespace mcpivot
