// Watches messages: an observer sees everything that clients and servers send each other through us, with
// who sent it and what became of it; and the lives of instances. The log and the journal are written from
// here.
//
// It only watches: it changes nothing. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "rpc/edit.h"
#include "rpc/message.h"
#include "server/ids.h"
#include "server/life.h"

namespace mcpivot {

// One thing that happened to a message. Valid during the call.
struct Seen {
  // A request is seen from_client and to_server, its answer from_server and to_client; servers' questions the
  // other way round.
  enum class Way : std::uint8_t { from_client, to_server, from_server, to_client };
  enum class What : std::uint8_t {
    passed,     // unchanged, except for ids and tokens
    changed,    // we added or replaced something: a name, a notice
    retried,    // a request that an earlier generation didn't answer
    made,       // by ourselves
    cancelled,  // the request that it names was cancelled by its sender
    refused,    // not accepted; to a client: our error in place of an answer
    dropped,    // there is no recipient
  };

  Way way;
  What what;
  ClientId client = ClientId::nobody;  // nobody: none in particular
  std::uint32_t exchange = 0;          // of a client's request and its answer; 0: not known
  std::string_view server{};           // its name, if it gets this or sent it
  GenerationId generation{};
  // Our id for the request, which is the same, with the same generation, in its answer. For a question, the
  // id that the client knows. 0: it has none.
  std::int64_t pair = 0;
  bool terminal = false;   // the client is a terminal, which controls us
  bool bridged = false;    // the server speaks the other era, so what it gets or said is translated
  std::string_view raw{};  // empty: too long to be held
  std::span<const Edit> edits{};
  const Message* message = nullptr;  // raw, parsed, if it could be
  std::string_view why{};            // it was refused or dropped
  Clock::Time when{};

  std::string line() const { return spliced(raw, edits); }
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void saw(const Seen& seen) = 0;
  // This is about to happen in the life of an instance.
  virtual void happens(const Life& /*life*/, const Life::Event& /*event*/) {}
};

// What a client has called lately, for its own model to read. The owner of the journal has it.
class CallHistory {
 public:
  virtual ~CallHistory() = default;
  // A line for each call of this client and nobody else's, without secrets; the newest last.
  virtual std::vector<std::string> last_calls(ClientId client, std::size_t most) const = 0;
};

}  // namespace mcpivot
