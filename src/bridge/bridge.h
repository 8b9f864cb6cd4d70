// Lets clients of one protocol era use a server of the other. It stands between a generation and the link to
// its server, and is a server of the clients' era to the one and a client of the server's era to the other.
// A pair of one era has no bridge: its bytes pass.
//
// The generation has given every request an id of its own (a number) before it comes here, and expects one
// answer for each under that id. Requests that the bridge makes itself have strings for ids, so the two never
// meet. What is of the server's own era already passes as it is.
//
// It keeps no time of its own: whoever owns it calls expire() now and then, and wake() when it is asked to.
// One thread.
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
  // What it stands between.
  class Ends {
   public:
    virtual ~Ends() = default;
    // Sends this to the server.
    virtual void to_server(const Message& message, std::span<const Edit> edits) = 0;
    virtual void to_server(std::string_view line) = 0;
    // The generation gets this as if the server had said it. Message and edits are valid during the call, in
    // which the generation may send the next thing.
    virtual void to_client(const Message& message, std::span<const Edit> edits) = 0;
    // The same for what this client is asked, or no longer asked: nobody else may see it.
    virtual void ask(std::uint64_t /*client*/, const Message& message) { to_client(message, {}); }
    // How this client introduced itself (the params of its `initialize`), if several share the server. Empty:
    // it didn't, or there is only one.
    virtual std::string_view hello_of(std::uint64_t /*client*/) const { return {}; }
    // What the server said is for nobody: it goes where its stderr goes.
    virtual void keep_log(std::string_view line) = 0;
    // wake() is to be called after this time; another one said before no longer counts.
    virtual void wake_bridge(std::chrono::milliseconds after) = 0;
    // A text that nobody can guess, of letters and digits.
    virtual std::string secret() = 0;
  };

  virtual ~Bridge() = default;

  // What the generation sends: requests, notifications, cancellations, and answers to what the server asked.
  // `client` tells apart those who share the server: a call that waits goes on for the one that made it. 0:
  // it is ours.
  virtual void from_client(const Message& message, std::span<const Edit> edits, std::uint64_t client) = 0;
  void from_client(const Message& message, std::span<const Edit> edits) { from_client(message, edits, 0); }
  virtual void from_server(const Message& message) = 0;
  // A request toward the server, under this id as JSON text, will have no answer. The id under which the
  // generation knows it; empty if it doesn't, and nobody needs to be told.
  virtual std::string lost(std::string_view id) = 0;
  // The version in which the server is spoken to, as JSON text, if it is not a fixed one; empty: not known.
  virtual std::string_view version() const { return {}; }
  // What waits too long for a client is given up.
  virtual void expire() {}
  virtual void wake() {}
  // A client has gone: what waits for it is given up.
  virtual void forget(std::uint64_t /*client*/) {}
  // Whether something is under way that the generation doesn't know of: calls that wait for their clients.
  virtual bool idle() const { return true; }
  // Whether a request with this requestState (JSON text) goes on with a call that waits here.
  virtual bool has_parked(std::string_view /*request_state*/) const { return false; }
  // The requestStates (values) of all calls that wait here.
  virtual std::vector<std::string> parked_states() const { return {}; }
};

}  // namespace mcpivot
