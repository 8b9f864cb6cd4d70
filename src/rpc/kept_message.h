// A message that must live longer than the line it came in: one that waits for a server to start, or that may
// have to be sent again. Small ones are copied; large ones share the buffer that they were received in.
//
// One thread.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "rpc/buffer.h"
#include "rpc/message.h"

namespace mcpivot {

class KeptMessage {
 public:
  KeptMessage() = default;
  explicit KeptMessage(const Message& message) { keep(message); }

  // Uses the memory of what was kept here before.
  void keep(const Message& message) {
    if (message.raw.size() >= worth_sharing) return keep_large(message);
    buffer_.reset();
    copied_.assign(message.raw);
  }
  // Lets go of it, but for a little memory that serves the next one.
  void drop() {
    buffer_.reset();
    copied_.clear();
  }

  bool empty() const { return raw().empty(); }
  std::string_view raw() const { return buffer_ ? shared_ : std::string_view(copied_); }

  // Read anew; valid as long as this object is. It was a message before, so it is one now.
  Message message() const {
    Message message = *read_message(raw());
    message.buffer = buffer_;
    return message;
  }

 private:
  static constexpr std::size_t worth_sharing = 16 * 1024;

  // One without a buffer (it was renamed, say) gets one of its own, and not the string, which keeps its
  // memory: a table of requests has hundreds of these.
  [[gnu::noinline]] void keep_large(const Message& message) {
    buffer_ = message.buffer;
    shared_ = message.raw;
    if (buffer_) return;
    buffer_ = new Buffer(message.raw.size());
    std::memcpy(buffer_->data(), message.raw.data(), message.raw.size());
    shared_ = {buffer_->data(), message.raw.size()};
  }

  std::string copied_;
  BufferRef buffer_;
  std::string_view shared_;
};

}  // namespace mcpivot
