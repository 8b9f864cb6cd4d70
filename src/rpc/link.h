// A two-way stream of JSON-RPC messages: the client's stdio, a child's pipes, an HTTP session. Code between
// two links doesn't need to know how the bytes travel.
//
// A link never blocks and never grows without bound: when the peer stops reading, full() becomes true, and
// the code that feeds the link must stop reading its own sources until on_writable().
//
// One thread; handlers are called from the event loop. Only on_writable() may be called from within another
// call.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rpc/edit.h"
#include "rpc/message.h"
#include "rpc/skim.h"

namespace mcpivot {

class Link {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // The message is valid during the call.
    virtual void on_message(const Message& message) = 0;
    virtual void on_batch(std::string_view line) = 0;
    virtual void on_unreadable(std::string_view line, const Refusal& refusal) = 0;
    // A message over the limit went by and is lost; this is what is known about it.
    virtual void on_oversize(const Skim& skim, std::size_t limit) = 0;
    virtual void on_writable() = 0;
    // The request that was sent under this id won't be answered, though the link goes on.
    virtual void on_lost(std::string_view /*id*/, bool /*reached*/, std::string_view /*why*/) {}
    // The peer reads no more. It may still have something to say; when it hasn't, on_end() follows.
    virtual void on_broken(std::string_view why) = 0;
    // The peer closed its side, or the connection broke. Called once; nothing is received after it.
    virtual void on_end(std::string_view why) = 0;
  };

  virtual ~Link() = default;

  virtual void send(const Message& message, std::span<const Edit> edits) = 0;
  virtual void send(std::string_view line) = 0;
  virtual bool full() const = 0;
  // Far more is waiting than full() allows, because the peer doesn't read.
  virtual bool overflows() const { return false; }

  // Where the last message ends in the stream of everything that was sent; and whether the peer may have seen
  // what ends at a position.
  virtual std::uint64_t position() const = 0;
  virtual bool reached(std::uint64_t position) const = 0;

  // While paused, nothing is read and no message is delivered.
  virtual void pause() = 0;
  virtual void resume() = 0;

  // Nothing more will be sent: the peer sees the end of its input once all pending output is written.
  virtual void finish() = 0;
  // Nothing more is sent or received, and the handler is not called again.
  virtual void close() = 0;
};

}  // namespace mcpivot
