// Requests that came before it is known what some servers offer, because these are starting for the first
// time: answering at once would deny tools that exist. They wait a little, and are answered from what is
// known then.
//
// Which servers a request waits for is determined each time: a server that is gone keeps no request waiting,
// and one that was added may be the one that it needs. One thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients.h"
#include "server/timers.h"

namespace mcpivot {

class EarlyRequests {
 public:
  // How long a client waits for servers that are starting.
  static constexpr std::chrono::milliseconds patience{5'000};
  static constexpr std::size_t most_waiting = 1024;  // in places, as in a WaitingRoom

  using IsStarting = std::function<bool(const std::string& server)>;
  EarlyRequests(Timers& timers, IsStarting is_starting)
      : clock_(timers), is_starting_(std::move(is_starting)), timer_(timers) {}

  // The servers that a request currently depends on.
  using Servers = std::function<std::vector<std::string>()>;
  // Calls `then` as soon as none of these servers is starting; at once, if none is, or too many wait already.
  // `bytes`: the size of what is kept in the meantime.
  void wait(Asker asker, std::string_view id, Servers servers, std::function<void()> then,
            std::size_t bytes = 0);
  // A server may have started, failed or been removed.
  void look();
  // Stop waiting for any server.
  void release();
  // The same for requests that wait for this server. Requests that no longer have to wait are answered too:
  // now, before the server stops.
  void release(const std::string& server);
  // Cancels a request. Returns who asked; null: it isn't here.
  std::optional<Asker> cancel(Asker by, std::string_view id);
  // A client is gone.
  void forget(ClientId client);

 private:
  struct Early {
    Asker asker;
    std::string id;
    Servers servers;
    Clock::Time deadline;
    std::function<void()> then;
    std::size_t places = 1;
  };
  bool is_due(const Early& early) const;
  std::size_t taken() const;
  template <class IsDue>
  void answer(const IsDue& due);
  void set_timer();

  const Clock& clock_;
  IsStarting is_starting_;
  Alarm timer_;
  std::deque<Early> waiting_;  // in the order of their deadlines
};

}  // namespace mcpivot
