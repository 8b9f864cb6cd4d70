// The requests (and notifications) that came while a server had no generation to take them. They wait in
// order, so many and so long as the limits say; a request is then told why it took too long.
//
// One thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>

#include "rpc/kept_message.h"
#include "server/clients.h"
#include "server/timers.h"

namespace mcpivot {

class WaitingRoom {
 public:
  static constexpr std::size_t most_waiting = 1024;
  static constexpr std::size_t most_bytes = 256 * 1024 * 1024;  // of large ones; the others are small

  struct Waiting {
    Asker asker;  // nobody: a notification, which nobody waits for
    KeptMessage message;
    int sent_before;  // how many earlier generations died with it
    Clock::Time deadline;
    bool is_request() const { return asker.client != ClientId::nobody; }
  };
  using OnOverdue = std::function<void(const Waiting&)>;

  WaitingRoom(Timers& timers, std::chrono::milliseconds patience, OnOverdue on_overdue);

  // For those who come from now on.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  // False: the room is full.
  bool add(Asker asker, const Message& message, int sent_before, std::span<const Edit> edits = {});
  // A client takes its request back: who asked for it. Null: it is not here.
  std::optional<Asker> cancel(Asker by, const Message& cancelled);
  // A client is gone, and nobody waits for its requests any more.
  void forget(ClientId client) {
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.asker.client == client; });
  }
  // Everybody leaves, in order.
  std::deque<Waiting> take_all();
  std::size_t size() const { return waiting_.size(); }

 private:
  bool is_full_for(const Message& message) const;
  void set_timer();

  const Clock& clock_;
  Alarm timer_;
  std::chrono::milliseconds patience_;
  OnOverdue on_overdue_;
  std::deque<Waiting> waiting_;
};

}  // namespace mcpivot
