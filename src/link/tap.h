// The one place that sees every message that enters or leaves: for logs, metrics and recordings.
//
// One thread.
#pragma once

#include <span>
#include <string_view>

#include "log/log.h"
#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class Tap {
 public:
  virtual ~Tap() = default;
  virtual void received(std::string_view peer, std::string_view line) = 0;
  virtual void sent(std::string_view peer, const Message& message, std::span<const Edit> edits) = 0;
  virtual void sent(std::string_view peer, std::string_view line) = 0;
};

// Writes them to the log, for --log-level trace.
class TraceTap final : public Tap {
 public:
  void received(std::string_view peer, std::string_view line) override { log_trace("{} > {}", peer, line); }
  void sent(std::string_view peer, const Message& message, std::span<const Edit> edits) override {
    log_trace("{} < {}", peer, spliced(message.raw, edits));
  }
  void sent(std::string_view peer, std::string_view line) override { log_trace("{} < {}", peer, line); }
};

}  // namespace mcpivot
