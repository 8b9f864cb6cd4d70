// A message that must outlive the line it came in: one that waits for a server to start, or that may have to
// be sent again. Small ones are copied; large ones share the buffer that they were received in, unless they
// are kept with edits.
//
// One thread.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "rpc/buffer.h"
#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class KeptMessage {
 public:
  KeptMessage() = default;
  explicit KeptMessage(const Message& message, std::span<const Edit> edits = {}) { keep(message, edits); }

  // Keeps it with these edits applied. Reuses the memory of what was kept here before.
  void keep(const Message& message, std::span<const Edit> edits = {}) {
    if (message.raw.size() >= worth_sharing) return keep_large(message, edits);
    buffer_.reset();
    if (!edits.empty()) return keep_changed(message, edits);
    copied_.assign(message.raw);
  }
  // Releases it, except for a little memory for the next one.
  void drop() {
    buffer_.reset();
    copied_.clear();
  }

  bool empty() const { return raw().empty(); }
  std::string_view raw() const { return buffer_ ? shared_ : std::string_view(copied_); }

  // Parsed again; valid as long as this object is. It was a message before, so it is one now.
  Message message() const {
    Message message = *read_message(raw());
    message.buffer = buffer_;
    return message;
  }

 private:
  static constexpr std::size_t worth_sharing = 16 * 1024;

  [[gnu::noinline]] void keep_changed(const Message& message, std::span<const Edit> edits) {
    copied_.clear();
    splice(message.raw, edits, [&](std::string_view piece) { copied_ += piece; });
  }

  // What can't be shared gets a buffer of its own rather than the string, which never gives memory back: a
  // table of requests has hundreds of these.
  [[gnu::noinline]] void keep_large(const Message& message, std::span<const Edit> edits) {
    if (message.buffer && edits.empty()) {
      buffer_ = message.buffer;
      shared_ = message.raw;
      return;
    }
    std::size_t size = message.raw.size();
    for (const Edit& edit : edits) size += edit.with.size() - edit.where.size;
    buffer_ = new Buffer(size);
    char* to = buffer_->data();
    splice(message.raw, edits, [&](std::string_view piece) {
      std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
    });
    shared_ = {buffer_->data(), size};
  }

  std::string copied_;
  BufferRef buffer_;
  std::string_view shared_;
};

}  // namespace mcpivot
