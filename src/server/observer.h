// Who watches the messages: one observer sees everything that clients and servers say to each other through
// us, with whose it is and what became of it. The log is written from here.
//
// It is asked nothing and changes nothing. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "rpc/edit.h"
#include "rpc/message.h"
#include "server/ids.h"

namespace mcpivot {

// One thing that happened to a message. Valid during the call.
struct Seen {
  // A request is seen from_client and to_server, its answer from_server and to_client; questions of servers
  // the other way round.
  enum class Way : std::uint8_t { from_client, to_server, from_server, to_client };
  enum class What : std::uint8_t {
    passed,     // as it came, but for ids and tokens
    changed,    // we put something else into it, too: a name, a notice
    retried,    // a request that an earlier generation did not answer
    made,       // by ourselves
    cancelled,  // whoever made the request that it names has taken it back
    refused,    // isn't taken; to a client: our error in the place of an answer
    dropped,    // nobody is there for it
  };

  Way way;
  What what;
  ClientId client = ClientId::nobody;  // nobody: none in particular
  std::string_view server{};           // its name, if it is about to get this, or said it
  GenerationId generation{};
  // Our id for the request: the same, with the same generation, in its answer. Of a question, the id that the
  // client knows. 0: it has none.
  std::int64_t pair = 0;
  std::string_view raw{};  // empty: too long to be held
  std::span<const Edit> edits{};
  const Message* message = nullptr;  // what raw is, if it was read
  std::string_view why{};            // refused or dropped
  Clock::Time when{};

  std::string line() const { return spliced(raw, edits); }
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void saw(const Seen& seen) = 0;
};

}  // namespace mcpivot
