#include "server/waiting_room.h"

#include <algorithm>
#include <utility>

namespace mcpivot {
namespace {

constexpr std::size_t large = 64 * 1024;

}  // namespace

WaitingRoom::WaitingRoom(Timers& timers, std::chrono::milliseconds patience, OnOverdue on_overdue)
    : clock_(timers), timer_(timers), patience_(patience), on_overdue_(std::move(on_overdue)) {}

bool WaitingRoom::is_full_for(const Message& message) const {
  if (waiting_.size() >= most_waiting) return true;
  if (message.raw.size() < large) return false;
  std::size_t bytes = message.raw.size();
  for (const Waiting& waiting : waiting_) bytes += waiting.message.raw().size();
  return bytes > most_bytes;
}

bool WaitingRoom::add(Asker asker, const Message& message, int sent_before, std::span<const Edit> edits) {
  if (is_full_for(message)) return false;
  waiting_.push_back({asker, KeptMessage(message, edits), sent_before, clock_.now() + patience_});
  set_timer();
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

// The patience may have changed since the first of them came, so the first to come need not be the first to
// go.
void WaitingRoom::set_timer() {
  if (waiting_.empty()) return timer_.cancel();
  const auto next = std::ranges::min_element(waiting_, {}, &Waiting::deadline)->deadline;
  timer_.set(next, [this] {
    const auto due = std::ranges::min_element(waiting_, {}, &Waiting::deadline);
    if (due == waiting_.end()) return;
    const Waiting overdue = std::move(*due);
    waiting_.erase(due);
    set_timer();  // before anything else: that may throw, or come back here
    if (overdue.is_request()) on_overdue_(overdue);
  });
}

}  // namespace mcpivot
