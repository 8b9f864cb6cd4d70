// Puts what the core's observer sees into the journal's queue: numbers, and the bytes as they went. Nothing
// is parsed here, and a message that passes unchanged is copied once, where it comes in.
//
// One thread, the loop's.
#pragma once

#include <functional>

#include "journal/journal_queue.h"
#include "server/observer.h"

namespace mcpivot {

class JournalObserver final : public Observer {
 public:
  // The queue must outlive it. `wake` is called when the thread that takes from it sleeps.
  JournalObserver(JournalQueue& queue, std::function<void()> wake) : queue_(queue), wake_(std::move(wake)) {}

  void saw(const Seen& seen) override;

 private:
  bool is_as_received(const Seen& seen) const;

  JournalQueue& queue_;
  std::function<void()> wake_;
  // The message that was received last and is being handled, by its address.
  const Message* last_message_ = nullptr;
  const char* last_raw_ = nullptr;
  std::size_t last_size_ = 0;
};

}  // namespace mcpivot
