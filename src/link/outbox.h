// What is waiting to be written to one peer. Small messages are copied into one block, because a copy costs
// less than another piece in a gathered write; large ones stay where they were received and are shared.
//
// One thread.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/buffer.h"
#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class Outbox {
 public:
  // Adds a message with these edits, which must be sorted by position, as one line.
  void add(const Message& message, std::span<const Edit> edits);
  void add(std::string_view line);
  // Bytes as they are; a large block isn't copied.
  void append(std::string_view bytes);
  void take(std::string bytes);

  bool empty() const { return bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }

  // Fills `pieces` with what to write next, and returns how many there are.
  std::size_t gather(std::span<iovec> pieces) const;
  // That many bytes have been written.
  void consume(std::size_t count);

 private:
  struct Chunk {
    std::string copied;       // either these bytes,
    BufferRef buffer;         // or,
    std::string_view shared;  // in that buffer, these
    bool whole = false;       // nothing may be appended to it: that might copy it
    std::string_view bytes() const { return buffer ? shared : std::string_view(copied); }
  };

  std::string& tail();
  void add_in_pieces(const Message& message, std::span<const Edit> edits);
  void share(const BufferRef& buffer, std::string_view bytes);

  std::vector<Chunk> chunks_;
  std::size_t first_ = 0;    // chunks before this one have been written,
  std::size_t written_ = 0;  // and so much of this one
  std::size_t bytes_ = 0;
};

}  // namespace mcpivot
