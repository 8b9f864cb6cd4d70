// A message that must live longer than the line it came in: one that waits for a server to start, or that may
// have to be sent again. Small ones are copied; large ones share the buffer that they were received in.
//
// One thread.
#pragma once

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
    if (message.buffer && message.raw.size() >= worth_sharing) {
      buffer_ = message.buffer;
      shared_ = message.raw;
    } else {
      buffer_.reset();
      copied_.assign(message.raw);
    }
  }
  // Lets go of it, but for a little memory that serves the next one: a table of requests has hundreds of
  // these, and a large message without a buffer of its own (one that was renamed, say) is copied, too.
  void drop() {
    buffer_.reset();
    copied_.clear();
    if (copied_.capacity() > worth_sharing) std::string().swap(copied_);  // an assignment keeps the memory
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

  std::string copied_;
  BufferRef buffer_;
  std::string_view shared_;
};

}  // namespace mcpivot
