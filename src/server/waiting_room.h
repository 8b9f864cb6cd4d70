// The requests (and notifications) that came while a server had no generation to take them, or while enough
// of their client's are under way there. They wait in order, so many and so long as the limits say; a request
// is then told why it took too long. Some are held though there is a generation: a better one is on its way.
//
// Nobody can take all the room: when it is full, the latest of whoever has the most of it makes way for one
// who has less.
//
// One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "rpc/kept_message.h"
#include "server/clients.h"
#include "server/timers.h"

namespace mcpivot {

class WaitingRoom {
 public:
  static constexpr std::size_t most_waiting = 1024;
  // A long one has several places: one more for each so many bytes.
  static constexpr std::size_t bytes_of_a_place = 256UL * 1024;

  struct Waiting {
    Asker asker;  // nobody: a notification, which nobody waits for
    KeptMessage message;
    int sent_before;  // how many earlier generations died with it
    Clock::Time deadline;
    bool held = false;
    bool is_request() const { return asker.client != ClientId::nobody; }
    std::size_t places() const { return 1 + message.raw().size() / bytes_of_a_place; }
  };
  using OnRefused = std::function<void(const Waiting&)>;

  // Whoever waited too long, and whoever had to make way.
  WaitingRoom(Timers& timers, std::chrono::milliseconds patience, OnRefused on_overdue,
              OnRefused on_crowded_out);

  // For those who come from now on.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  // False: the room is full, and nobody has more of it.
  bool add(Asker asker, const Message& message, int sent_before, std::span<const Edit> edits = {}) {
    return add({asker, KeptMessage(message, edits), sent_before, clock_.now() + patience_});
  }
  // The same, for so long.
  bool hold(Asker asker, const Message& message, int sent_before, std::span<const Edit> edits,
            std::chrono::milliseconds patience) {
    return add({asker, KeptMessage(message, edits), sent_before, clock_.now() + patience, true});
  }
  // A client takes its request back: who asked for it. Null: it is not here.
  std::optional<Asker> cancel(Asker by, const Message& cancelled);
  // A client is gone, and nobody waits for its requests any more.
  void forget(ClientId client) {
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.asker.client == client; });
  }
  // Everybody leaves, in order; or all that are held, or not.
  std::deque<Waiting> take_all();
  std::deque<Waiting> take_all(bool held);
  // The first one of a client that may go. Null: there is none.
  template <class May>
  std::optional<Waiting> take_first(May&& may) {
    const auto found =
        std::ranges::find_if(waiting_, [&](const Waiting& waiting) { return may(waiting.asker.client); });
    if (found == waiting_.end()) return std::nullopt;
    Waiting first = std::move(*found);
    waiting_.erase(found);
    set_timer();
    return first;
  }
  bool has(ClientId client) const {
    return std::ranges::any_of(waiting_,
                               [&](const Waiting& waiting) { return waiting.asker.client == client; });
  }
  std::size_t size() const { return waiting_.size(); }
  // Whether one waits that is held, or isn't.
  bool any(bool held) const {
    return std::ranges::any_of(waiting_, [&](const Waiting& waiting) { return waiting.held == held; });
  }

 private:
  bool add(Waiting waiting);
  bool make_room(ClientId client, std::size_t places);
  void set_timer();

  const Clock& clock_;
  Alarm timer_;
  std::chrono::milliseconds patience_;
  OnRefused on_overdue_;
  OnRefused on_crowded_out_;
  std::deque<Waiting> waiting_;
};

}  // namespace mcpivot
