// The bytes of one connection, plain or encrypted, without ever blocking: an operation that can't be done now
// says what to wait for.
//
// It doesn't own the descriptor. One thread; SIGPIPE must be ignored.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace mcpivot {

class Wire {
 public:
  enum class Now : std::uint8_t {
    done,
    when_readable,  // try again when the descriptor is readable,
    when_writable,  // or writable, whichever direction the bytes go
    ended,          // the peer sends no more
    broken,
  };
  struct Result {
    Now now = Now::done;
    std::size_t count = 0;  // bytes, if done
  };

  virtual ~Wire() = default;
  // Before anything else.
  virtual Result shake_hands() = 0;
  virtual Result read(std::span<char> room) = 0;
  // Writes as much as possible now, in this order.
  virtual Result write(std::span<const iovec> pieces) = 0;
  // Bytes have arrived that polling the descriptor doesn't show.
  virtual bool holds_bytes() const = 0;
  // We won't send any more.
  virtual void finish() = 0;
};

std::unique_ptr<Wire> plain_wire(int descriptor);

}  // namespace mcpivot
