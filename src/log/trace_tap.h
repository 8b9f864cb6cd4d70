// Writes every message that enters or leaves to the log, for --log-level trace.
#pragma once

#include "link/pipe_link.h"
#include "log/log.h"

namespace mcpivot {

class TraceTap final : public Tap {
 public:
  void received(std::string_view peer, std::string_view line) override { log_trace("{} > {}", peer, line); }
  void sent(std::string_view peer, const Message& message, std::span<const Edit> edits) override {
    log_trace("{} < {}", peer, spliced(message.raw, edits));
  }
  void sent(std::string_view peer, std::string_view line) override { log_trace("{} < {}", peer, line); }
};

}  // namespace mcpivot
