// The requests (and notifications) that came while a server had no generation to take them, or while their
// client had enough requests in flight. They wait in order, within limits of number and time; one that waits
// too long is told why. Some are held although there is a generation: a better one is on its way.
//
// No client can take up all the room: when it is full, the latest request of the client that has the most
// makes way for a client that has fewer.
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
  // A long request takes several places: one more for each so many bytes.
  static constexpr std::size_t bytes_of_a_place = 256UL * 1024;

  struct Waiting {
    Asker asker;  // nobody: a notification, which has no answer
    KeptMessage message;
    Attempts sent_before;  // to generations that died
    Clock::Time deadline;
    bool held = false;
    bool is_request() const { return asker.client != ClientId::nobody; }
    std::size_t places() const { return 1 + message.raw().size() / bytes_of_a_place; }
  };
  using OnRefused = std::function<void(const Waiting&)>;

  // The handlers are for requests that waited too long, and for those that had to make way.
  WaitingRoom(Timers& timers, std::chrono::milliseconds patience, OnRefused on_overdue,
              OnRefused on_crowded_out);

  // For requests from now on.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  // False: the room is full, and no other client has more.
  bool add(Asker asker, const Message& message, Attempts sent_before, std::span<const Edit> edits = {}) {
    return add({asker, KeptMessage(message, edits), sent_before, clock_.now() + patience_});
  }
  // The same for a request that is held, with a time limit of its own.
  bool hold(Asker asker, const Message& message, Attempts sent_before, std::span<const Edit> edits,
            std::chrono::milliseconds patience) {
    return add({asker, KeptMessage(message, edits), sent_before, clock_.now() + patience, true});
  }
  // A client cancels its request. Returns who asked; null: it isn't here.
  std::optional<Asker> cancel(Asker by, const Message& cancelled);
  // A client is gone, and its requests aren't wanted any more.
  void forget(ClientId client) {
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.asker.client == client; });
  }
  // Takes out all, in order; or all that are held, or that aren't.
  std::deque<Waiting> take_all();
  std::deque<Waiting> take_all(bool held);
  // The first request of a client that may go. Null: there is none.
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
    return has([&](ClientId one) { return one == client; });
  }
  template <class Whom>
  bool has(const Whom& whom) const {
    return std::ranges::any_of(waiting_, [&](const Waiting& waiting) { return whom(waiting.asker.client); });
  }
  std::size_t size() const { return waiting_.size(); }
  // Whether there is one that is held, or one that isn't.
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
