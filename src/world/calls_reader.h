// Reads the recorded calls that a new build is compared with: a file of kept calls, or the journal. Both may
// be slow, so each question gets a thread of its own; the answer is delivered by the event loop.
//
// Otherwise, one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "config/server_config.h"
#include "server/checked_call.h"

namespace mcpivot {

// The work of such a thread. Blocks.
CallsToCheck read_calls_to_check(const ServerConfig& config);

class CallsReader {
 public:
  // The loop must outlive it.
  explicit CallsReader(boost::asio::io_context& loop);
  ~CallsReader();
  CallsReader(const CallsReader&) = delete;
  CallsReader& operator=(const CallsReader&) = delete;

  // Once it is destroyed, no callback follows.
  void read(const ServerConfig& config, std::function<void(CallsToCheck)> then);

 private:
  struct Way;
  std::shared_ptr<Way> way_;
};

}  // namespace mcpivot
