// How a client is reached: over the one link that it came with, or over HTTP, where each exchange has a
// stream of its own. A session says what is to be said, and to which exchange it belongs.
//
// One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class Outlet {
 public:
  virtual ~Outlet() = default;

  // The answer to a request of this exchange; 0: to one that came on its own.
  virtual void answer(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) = 0;
  virtual void answer(std::uint32_t exchange, std::string_view line) = 0;
  // One of its requests has no answer, because the client took it back.
  virtual void withdrawn(std::uint32_t exchange) = 0;
  // A notification that belongs to this exchange; 0: to none.
  virtual void tell(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) = 0;
  virtual void tell(std::uint32_t exchange, std::string_view line) = 0;
  // What a server asks the client.
  virtual void ask(const Message& request, std::span<const Edit> edits) = 0;

  // The protocol version that the handshake ended with, as JSON text.
  virtual void agreed_version(std::string_view /*version*/) {}
  // The client does not read as fast as it is sent to.
  virtual bool full() const = 0;
  // The same for so long that even those who can't wait for it must say no more.
  virtual bool overflows() const = 0;
  // The servers take messages again.
  virtual void resume() = 0;
};

}  // namespace mcpivot
