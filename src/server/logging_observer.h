// Logs what becomes of messages: what is refused as a warning, what is dropped at debug level and, with
// --log-level trace, every message that passes.
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
