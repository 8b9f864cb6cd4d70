// Writes to the log what becomes of messages: what is refused as a warning, what is dropped for debugging,
// and, for --log-level trace, every message that goes its way.
//
// One thread.
#pragma once

#include "server/observer.h"

namespace mcpivot {

class LoggingObserver final : public Observer {
 public:
  void saw(const Seen& seen) override;
};

}  // namespace mcpivot
