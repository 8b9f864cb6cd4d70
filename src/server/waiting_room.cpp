#include "server/waiting_room.h"

#include <algorithm>
#include <utility>

namespace mcpivot {

WaitingRoom::WaitingRoom(Timers& timers, std::chrono::milliseconds patience, OnOverdue on_overdue)
    : clock_(timers), timer_(timers), patience_(patience), on_overdue_(std::move(on_overdue)) {}

bool WaitingRoom::add(Asker* asker, const Message& message, int sent_before) {
  if (waiting_.size() >= most_waiting) return false;
  waiting_.push_back({asker, KeptMessage(message), sent_before, clock_.now() + patience_});
  if (waiting_.size() == 1) set_timer();
  return true;
}

bool WaitingRoom::cancel(Asker& client, const Message& cancelled) {
  const std::string_view id = cancelled.text(cancelled.request_id);
  auto found = std::ranges::find_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.asker == nullptr) return false;
    const Message message = waiting.message.message();
    return &waiting.asker->client() == &client && same_id(message.text(message.id), id);
  });
  if (found == waiting_.end()) return false;
  const Waiting taken = std::move(*found);
  waiting_.erase(found);
  const Message message = taken.message.message();
  taken.asker->withdrawn(message.text(message.id));
  return true;
}

std::deque<WaitingRoom::Waiting> WaitingRoom::take_all() {
  timer_.cancel();
  return std::exchange(waiting_, {});
}

void WaitingRoom::set_timer() {
  if (waiting_.empty()) return;
  timer_.set(waiting_.front().deadline, [this] {
    const auto now = clock_.now();
    while (!waiting_.empty() && waiting_.front().deadline <= now) {
      const Waiting overdue = std::move(waiting_.front());
      waiting_.pop_front();
      if (overdue.asker != nullptr) on_overdue_(overdue);
    }
    set_timer();
  });
}

}  // namespace mcpivot
