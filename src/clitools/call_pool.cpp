#include "clitools/call_pool.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace mcpivot {

void CallPool::set_jobs(std::size_t jobs) {
  jobs_ = jobs != 0 ? jobs : std::max<std::size_t>(1, std::thread::hardware_concurrency()) * 4;
  start_next();
}

CallPool::Ticket CallPool::enter(std::size_t bytes, std::function<void()> start) {
  if (waiting_.size() >= most_waiting || waiting_bytes_ + bytes > most_waiting_bytes) return 0;
  const Ticket ticket = ++last_ticket_;
  waiting_bytes_ += bytes;
  waiting_.push_back({ticket, bytes, std::move(start)});
  start_next();
  return ticket;
}

void CallPool::leave(Ticket ticket) {
  const auto found = std::ranges::find(waiting_, ticket, &Waiting::ticket);
  if (found == waiting_.end()) {
    --running_;
  } else {
    waiting_bytes_ -= found->bytes;
    waiting_.erase(found);
  }
  start_next();
}

void CallPool::resume() {
  held_ = false;
  start_next();
}

void CallPool::start_next() {
  if (starting_) return;  // a call that is started may leave at once
  const struct Turn {
    explicit Turn(bool& starting) : starting_(starting) { starting_ = true; }
    ~Turn() { starting_ = false; }  // even after an exception: later calls must have their turn
    bool& starting_;
  } turn(starting_);
  while (!held_ && running_ < jobs_ && !waiting_.empty()) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= next.bytes;
    ++running_;
    next.start();
  }
}

void CallPool::count(const std::string& tool, std::chrono::milliseconds took, bool failed) {
  ++counts_.calls;
  if (failed) ++counts_.failures;
  if (took < counts_.slowest) return;
  counts_.slowest = took;
  counts_.slowest_tool = tool;
}

}  // namespace mcpivot
