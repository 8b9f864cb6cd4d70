// Requests that came before it is known what some servers offer, because these start for the first time: to
// answer at once would be to deny tools that exist. They wait a little, and are answered from what is known
// then.
//
// Servers are looked up by name each time, so one that is gone keeps nobody waiting. One thread.
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
  // For how long a client waits for servers that start.
  static constexpr std::chrono::milliseconds patience{5'000};
  static constexpr std::size_t most_waiting = 1024;  // in places, as in a WaitingRoom

  using IsStarting = std::function<bool(const std::string& server)>;
  EarlyRequests(Timers& timers, IsStarting is_starting)
      : clock_(timers), is_starting_(std::move(is_starting)), timer_(timers) {}

  // Calls `then` as soon as none of these servers is starting; at once, if none is, or too many wait already.
  // `bytes`: what it keeps meanwhile.
  void wait(Asker asker, std::string_view id, std::vector<std::string> servers, std::function<void()> then,
            std::size_t bytes = 0);
  // Some server may have started, failed or gone.
  void look();
  // Nobody is waited for any longer.
  void release();
  // The same for those that wait for this server.
  void release(const std::string& server);
  // Takes a request back: who asked for it. Null: it is not here.
  std::optional<Asker> cancel(Asker by, std::string_view id);
  // One who asked is gone.
  void forget(ClientId client);

 private:
  struct Early {
    Asker asker;
    std::string id;
    std::vector<std::string> servers;
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
