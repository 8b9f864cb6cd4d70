// Turns a stream of bytes into lines. Owns the receive buffer, reuses it while it can, and never holds more
// than one message of the permitted size: a longer one, or one that there is no memory for, is skimmed as it
// streams past and reported.
//
//   read into writable(), commit() what came, then take next() until it returns nothing.
//
// One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "rpc/buffer.h"
#include "rpc/skim.h"

namespace mcpivot {

class LineReader {
 public:
  // Enough for hundreds of small messages in one read; also what a pipe holds by default.
  static constexpr std::size_t usual_capacity = 64 * 1024;

  // A buffer that grew beyond this is not kept forever.
  static constexpr std::size_t most_kept = 256 * 1024;

  explicit LineReader(std::size_t limit) : limit_(limit), buffer_(new Buffer(usual_capacity)) {}

  struct Line {
    std::string_view text;  // without the newline, or a carriage return before it; never blank
  };
  using Event = std::variant<Line, Skim>;  // Skim: a line that couldn't be held went by

  // Where to put the next bytes. Never empty.
  std::span<char> writable();
  void commit(std::size_t count) { end_ += count; }

  // The next complete line. Its text is valid until writable() is called, or as long as buffer() is kept.
  std::optional<Event> next();

  // At the end of the stream: a last line without a newline.
  std::optional<Event> rest();

  // A large message makes the buffer grow, and the next one may need the space again; call trim() when none
  // has come for a while.
  bool oversized() const { return buffer_->capacity() > most_kept; }
  void trim();

  const BufferRef& buffer() const { return buffer_; }
  std::size_t limit() const { return limit_; }

 private:
  std::optional<Event> line(std::size_t length);
  void start_skim_if_over_limit();
  void skim_pending();
  void make_room();

  std::size_t limit_;
  BufferRef buffer_;
  std::size_t begin_ = 0;     // the first byte that next() has not yet returned
  std::size_t end_ = 0;       // just after the last byte received
  std::size_t searched_ = 0;  // no newline in [begin_, searched_)
  std::optional<Skim> skim_;  // a line that can't be held is going by; its bytes so far are gone
};

// A message that arrives by other means may contain line breaks. Those between its tokens become blanks; one
// within a string isn't JSON, and stays.
void make_one_line(std::span<char> text);

}  // namespace mcpivot
