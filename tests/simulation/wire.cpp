#include "wire.h"

#include <utility>

namespace simulation {

using mcpivot::Edit;
using mcpivot::Message;

void Wire::start(Handler& handler) {
  handler_ = &handler;
  deliver_later();
}

// Mostly without delay, so that many things happen at the same moment.
Micros Wire::delay() {
  const int kind = chance_.below(16);
  if (kind < 9) return Micros(0);
  return Micros(kind < 15 ? chance_.below(400) : chance_.below(6'000));
}

// --- from the core to the peer

void Wire::send(const Message& message, std::span<const Edit> edits) {
  send(spliced(message.raw, edits));
}

void Wire::send(std::string_view line) {
  position_ += line.size() + 1;
  if (finishing_ || gone_) return;  // counts as sent, and is never taken
  if (peer_ != nullptr) peer_->sent(line);
  waiting_bytes_ += line.size() + 1;
  was_full_ = was_full_ || full();
  to_peer_.emplace_back(line);
  transfer_later();
}

void Wire::transfer_later() {
  if (std::exchange(transferring_, true)) return;
  time_.later(delay(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->transfer();
  });
}

void Wire::transfer() {
  transferring_ = false;
  for (int most = chance_.between(1, 6); most > 0 && reading_ && !gone_ && !to_peer_.empty(); --most) {
    const std::string line = std::move(to_peer_.front());
    to_peer_.pop_front();
    waiting_bytes_ -= line.size() + 1;
    taken_ += line.size() + 1;
    time_.count();
    if (peer_ != nullptr) peer_->hear(line);
  }
  if (was_full_ && waiting_bytes_ <= low_water) {
    was_full_ = false;
    if (handler_ != nullptr) handler_->on_writable();
  }
  if (gone_ || !reading_) return;
  if (!to_peer_.empty()) return transfer_later();
  if (finishing_ && !std::exchange(ended_, true) && peer_ != nullptr) peer_->hear_end();
}

void Wire::read_again() {
  reading_ = true;
  transfer_later();
}

void Wire::finish() {
  if (std::exchange(finishing_, true)) return;
  transfer_later();
}

// --- from the peer to the core

void Wire::say(std::string line) {
  if (gone_) return;
  to_core_.push_back(std::move(line));
  deliver_later();
}

void Wire::deliver_later() {
  if (handler_ == nullptr || paused_ || std::exchange(delivering_, true)) return;
  time_.later(delay(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->deliver();
  });
}

void Wire::deliver() {
  delivering_ = false;
  for (int most = chance_.between(1, 6); most > 0 && !paused_ && handler_ != nullptr && !to_core_.empty();
       --most) {
    const std::string line = std::move(to_core_.front());
    to_core_.pop_front();
    time_.count();
    give(line);
  }
  if (!to_core_.empty()) return deliver_later();
  if (gone_ && !paused_ && peer_ != nullptr) std::exchange(peer_, nullptr)->emptied();
}

// As the link of a pipe does.
void Wire::give(std::string_view line) {
  if (line.size() > limit_) {
    mcpivot::Skim skim;
    skim.feed(line);
    return handler_->on_oversize(skim, limit_);
  }
  if (mcpivot::is_batch(line)) {
    if (const auto elements = mcpivot::read_batch(line); elements && peer_ != nullptr)
      for (const std::string_view element : *elements)
        if (const auto message = mcpivot::read_message(element)) peer_->given(*message);
    return handler_->on_batch(line);
  }
  const auto message = mcpivot::read_message(line);
  if (!message) return handler_->on_unreadable(line, message.error());
  if (peer_ != nullptr) peer_->given(*message);
  handler_->on_message(*message);
  if (peer_ != nullptr) peer_->taken();
}

void Wire::resume() {
  paused_ = false;
  deliver_later();
}

void Wire::leave() {
  gone_ = true;
  to_peer_.clear();
  waiting_bytes_ = 0;
  deliver_later();
}

void Wire::close() {
  handler_ = nullptr;
  to_core_.clear();
}

}  // namespace simulation
