#include "gateway/early_requests.h"

#include <algorithm>
#include <utility>

#include "base/contains.h"
#include "rpc/message.h"
#include "server/waiting_room.h"

namespace mcpivot {

void EarlyRequests::wait(Asker asker, std::string_view id, Servers servers, std::function<void()> then,
                         std::size_t bytes) {
  Early early{.asker = asker,
              .id = std::string(id),
              .servers = std::move(servers),
              .deadline = clock_.now() + patience,
              .then = std::move(then),
              .places = 1 + bytes / WaitingRoom::bytes_of_a_place};
  if (is_due(early) || taken() + early.places > most_waiting) return early.then();
  waiting_.push_back(std::move(early));
  if (waiting_.size() == 1) set_timer();
}

std::size_t EarlyRequests::taken() const {
  std::size_t taken = 0;
  for (const Early& early : waiting_) taken += early.places;
  return taken;
}

bool EarlyRequests::is_due(const Early& early) const {
  return early.deadline <= clock_.now() || std::ranges::none_of(early.servers(), is_starting_);
}

// Answering may add or remove others.
template <class IsDue>
void EarlyRequests::answer(const IsDue& due) {
  for (;;) {
    const auto next = std::ranges::find_if(waiting_, due);
    if (next == waiting_.end()) break;
    const auto then = std::move(next->then);
    waiting_.erase(next);
    then();
  }
  set_timer();
}

// Not at once: the caller may be in the middle of something, such as a configuration change.
void EarlyRequests::look() {
  if (waiting_.empty()) return;
  timer_.set(std::chrono::milliseconds(0),
             [this] { answer([this](const Early& early) { return is_due(early); }); });
}

void EarlyRequests::release(const std::string& server) {
  answer([&](const Early& early) { return is_due(early) || contains(early.servers(), server); });
}

void EarlyRequests::release() {
  timer_.cancel();
  for (const Early& early : std::exchange(waiting_, {})) early.then();
}

void EarlyRequests::set_timer() {
  if (waiting_.empty()) return timer_.cancel();
  timer_.set(waiting_.front().deadline, [this] { look(); });
}

std::optional<Asker> EarlyRequests::cancel(Asker by, std::string_view id) {
  const auto found = std::ranges::find_if(
      waiting_, [&](const Early& early) { return by.speaks_for(early.asker) && same_id(early.id, id); });
  if (found == waiting_.end()) return std::nullopt;
  const Asker asker = found->asker;
  waiting_.erase(found);
  set_timer();
  look();  // that may have been due: there is only one alarm
  return asker;
}

void EarlyRequests::forget(ClientId client) {
  std::erase_if(waiting_, [&](const Early& early) { return early.asker.client == client; });
  set_timer();
  look();
}

}  // namespace mcpivot
