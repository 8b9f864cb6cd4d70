// How much an HTTP client may ask of us, in bytes and in time.
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
  std::size_t pipelined_bytes = 64 * 1024;        // what is read ahead while an answer is awaited
  std::size_t stream_bytes = 1024 * 1024;         // more waiting for one client: its stream is full
  std::size_t overflow_bytes = 64 * 1024 * 1024;  // more waiting in a stream: the client is cut off
  // More of requests that have not come to their end, and of what clients have not read, for all together:
  // the connection with the most of it is cut off.
  std::size_t held_bytes = 1024 * 1024 * 1024;
  // From the connection, or from the first byte of a further request, to the end of the head. A TLS handshake
  // counts.
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_stall{30'000};   // between two pieces of a body
  std::chrono::milliseconds idle{75'000};         // between two requests
  std::chrono::milliseconds write_stall{60'000};  // a client that reads nothing of what waits for it
  std::chrono::milliseconds linger{2'000};        // for the client to close its end, when we have closed ours
};

}  // namespace mcpivot
