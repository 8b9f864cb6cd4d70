#include "server/waiting_room.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/contains.h"
#include "base/greediest.h"

namespace mcpivot {

WaitingRoom::WaitingRoom(Timers& timers, std::chrono::milliseconds patience, OnRefused on_overdue,
                         OnRefused on_crowded_out)
    : clock_(timers),
      timer_(timers),
      patience_(patience),
      on_overdue_(std::move(on_overdue)),
      on_crowded_out_(std::move(on_crowded_out)) {}

bool WaitingRoom::add(Waiting waiting) {
  if (!make_room(waiting.asker.client, waiting.places())) return false;
  waiting_.push_back(std::move(waiting));
  set_timer();
  return true;
}

// False: the client would have more than any other, so no request makes way.
bool WaitingRoom::make_room(ClientId client, std::size_t places) {
  std::size_t taken = 0;
  for (const Waiting& one : waiting_) taken += one.places();
  if (taken + places <= most_waiting) return true;
  auto shares = shares_of(
      waiting_, [](const Waiting& one) { return one.asker.client; },
      [](const Waiting& one) { return one.places(); });
  std::size_t own = places;
  for (const auto& [who, share] : shares)
    if (who == client) own += share;
  std::vector<std::size_t> leave;  // positions, last first for each client
  while (taken + places > most_waiting) {
    const auto most = std::ranges::max_element(shares, {}, [](const auto& share) { return share.second; });
    if (most == shares.end() || most->first == client || most->second <= own) return false;
    for (std::size_t at = waiting_.size(); at-- > 0;) {
      if (waiting_[at].asker.client != most->first || contains(leave, at)) continue;
      leave.push_back(at);
      most->second -= waiting_[at].places();
      taken -= waiting_[at].places();
      break;
    }
  }
  std::ranges::sort(leave, std::greater());
  std::vector<Waiting> gone;
  for (const std::size_t at : leave) {
    gone.push_back(std::move(waiting_[at]));
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (const Waiting& one : gone) on_crowded_out_(one);
  return true;
}

std::optional<Asker> WaitingRoom::cancel(Asker by, const Message& cancelled) {
  const std::string_view id = cancelled.text(cancelled.request_id);
  auto found = std::ranges::find_if(waiting_, [&](const Waiting& waiting) {
    const Message message = waiting.message.message();
    return by.speaks_for(waiting.asker) && same_id(message.text(message.id), id);
  });
  if (found == waiting_.end()) return std::nullopt;
  const Asker asker = found->asker;
  waiting_.erase(found);
  return asker;
}

std::deque<WaitingRoom::Waiting> WaitingRoom::take_all() {
  timer_.cancel();
  return std::exchange(waiting_, {});
}

std::deque<WaitingRoom::Waiting> WaitingRoom::take_all(bool held) {
  std::deque<Waiting> taken;
  for (Waiting& waiting : std::exchange(waiting_, {}))
    (waiting.held == held ? taken : waiting_).push_back(std::move(waiting));
  set_timer();
  return taken;
}

// The patience may have changed since the first of them came, so the first to come isn't always the first to
// go.
void WaitingRoom::set_timer() {
  if (waiting_.empty()) return timer_.cancel();
  const auto next = std::ranges::min_element(waiting_, {}, &Waiting::deadline)->deadline;
  timer_.set(next, [this] {
    const auto due = std::ranges::min_element(waiting_, {}, &Waiting::deadline);
    if (due == waiting_.end()) return;
    if (due->deadline > clock_.now()) return set_timer();  // the one that it was set for is gone
    const Waiting overdue = std::move(*due);
    waiting_.erase(due);
    set_timer();  // first: the rest may throw, or call this again
    on_overdue_(overdue);
  });
}

}  // namespace mcpivot
