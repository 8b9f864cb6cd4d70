// The client's end of a subject: it sends messages and receives answers, and waits for nothing longer than it
// is told to. Behind it are pipes, or HTTP if a rival offers nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "process_tree.h"

struct Incoming {
  std::int64_t id = -1;      // -1: a notification, or a request of the server
  std::string_view message;  // valid until the next receive()
  std::string problem;       // not a JSON-RPC answer: what HTTP said instead
  Clock::time_point arrived;
};

class Front {
 public:
  virtual ~Front() = default;
  // `id` is that of the request, -1 for a notification. Throws Failure if nobody reads.
  virtual void send(std::int64_t id, std::string_view message) = 0;
  // The next message; empty if none arrived by then. Throws Failure when there will be no more.
  virtual std::optional<Incoming> receive(Clock::time_point deadline) = 0;
};

// On the pipes of a process, which must outlive it.
std::unique_ptr<Front> stdio_front(ProcessTree& process);

struct HttpAddress {
  std::uint16_t port = 0;
  std::string path = "/mcp";
  bool old_sse = false;  // answers come on one stream, opened with GET
};

// Waits until something listens there.
std::unique_ptr<Front> http_front(const HttpAddress& address, Clock::time_point deadline);

// The id of an answer; -1 if there is none.
std::int64_t id_of(std::string_view message);
