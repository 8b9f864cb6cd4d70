// Blocks signals in this thread, and so in the threads that it starts, while it lives: signals are the event
// loop's.
//
// Any thread.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace mcpivot {

class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace mcpivot
