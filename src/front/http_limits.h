// How much of our memory and time an HTTP client may take.
//
// Plain data.
#pragma once

#include <chrono>
#include <cstddef>

namespace mcpivot {

struct HttpLimits {
  std::size_t connections = 16 * 1024;
  std::size_t header_bytes = 64 * 1024;
  std::size_t body_bytes = 64 * 1024 * 1024;
  std::size_t pipelined_bytes = 64 * 1024;        // read ahead while an answer is awaited
  std::size_t stream_bytes = 1024 * 1024;         // if more waits for one client, its stream is full
  std::size_t overflow_bytes = 64 * 1024 * 1024;  // if more waits in a stream, the client is disconnected
  // Of incomplete requests, and of what clients have not read, for all together: beyond this, the connection
  // with the most is closed.
  std::size_t held_bytes = 1024 * 1024 * 1024;
  // From the start of the connection, or the first byte of a later request, to the end of the head. Includes
  // the TLS handshake.
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_stall{30'000};   // between two pieces of a body
  std::chrono::milliseconds idle{75'000};         // between two requests
  std::chrono::milliseconds write_stall{60'000};  // of a client that reads nothing
  std::chrono::milliseconds linger{2'000};        // for the client to close its end after we closed ours
};

}  // namespace mcpivot
