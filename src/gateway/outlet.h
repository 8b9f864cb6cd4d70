// How a client is reached: over its one link, or over HTTP, where each exchange has a stream of its own. A
// session decides what to send, and to which exchange it belongs.
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

  // The answer to a request of this exchange; 0: to one outside any exchange.
  virtual void answer(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) = 0;
  virtual void answer(std::uint32_t exchange, std::string_view line) = 0;
  // One of its requests gets no answer, because the client cancelled it.
  virtual void withdrawn(std::uint32_t exchange) = 0;
  // A notification that belongs to this exchange; 0: to none.
  virtual void tell(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) = 0;
  virtual void tell(std::uint32_t exchange, std::string_view line) = 0;
  // A server's question to the client.
  virtual void ask(const Message& request, std::span<const Edit> edits) = 0;

  // The protocol version that was negotiated, as JSON text.
  virtual void agreed_version(std::string_view /*version*/) {}
  // The client doesn't read as fast as we send.
  virtual bool full() const = 0;
  // So much waits for it that even senders that can't wait for it must stop.
  virtual bool overflows() const = 0;
  // The servers accept messages again.
  virtual void resume() = 0;
};

}  // namespace mcpivot
