#include "rpc/line_reader.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Reading into less room than this isn't worth a system call.
constexpr std::size_t least_room = 16 * 1024;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

std::span<char> LineReader::writable() {
  if (begin_ == end_ || buffer_->capacity() - end_ < least_room) {
    try {
      make_room();
    } catch (const std::bad_alloc&) {
      skim_pending();
      make_room();  // needs no more than the usual buffer
    }
  }
  return {buffer_->data() + end_, buffer_->capacity() - end_};
}

// Moves the line that is still coming in to the front of a buffer with room after it.
void LineReader::make_room() {
  const std::size_t pending = end_ - begin_;
  if (buffer_->shared()) {
    BufferRef fresh(new Buffer(std::max(usual_capacity, 2 * pending)));
    std::memcpy(fresh->data(), buffer_->data() + begin_, pending);
    buffer_ = std::move(fresh);
  } else if (begin_ != 0) {
    std::memmove(buffer_->data(), buffer_->data() + begin_, pending);
  }
  searched_ -= begin_;
  begin_ = 0;
  end_ = pending;
  if (buffer_->capacity() - pending < least_room) buffer_->grow(2 * buffer_->capacity());  // may throw
}

void LineReader::trim() {
  if (begin_ != end_ || !oversized()) return;
  buffer_ = new Buffer(usual_capacity);
  begin_ = end_ = searched_ = 0;
}

std::optional<LineReader::Event> LineReader::next() {
  while (true) {
    const char* from = buffer_->data() + searched_;
    const auto* newline = static_cast<const char*>(std::memchr(from, '\n', end_ - searched_));
    if (newline == nullptr) {
      searched_ = end_;
      start_skim_if_over_limit();
      return std::nullopt;
    }
    const auto length = static_cast<std::size_t>(newline - (buffer_->data() + begin_));
    auto event = line(length);
    begin_ = std::min(begin_ + length + 1, end_);
    searched_ = begin_;
    if (event) return event;
  }
}

std::optional<LineReader::Event> LineReader::rest() {
  auto event = line(end_ - begin_);
  begin_ = searched_ = end_;
  return event;
}

// The bytes [begin_, begin_ + length) end a line. A blank one yields nothing.
std::optional<LineReader::Event> LineReader::line(std::size_t length) {
  std::string_view text(buffer_->data() + begin_, length);
  if (skim_ || length > limit_) {
    Skim skim = std::move(skim_).value_or(Skim());
    skim_.reset();
    skim.feed(text);
    return skim;
  }
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (is_blank(text)) return std::nullopt;
  return Line{text};
}

void LineReader::start_skim_if_over_limit() {
  const std::size_t length = end_ - begin_;
  if (skim_ || length > limit_) skim_pending();
}

// Skims what has arrived of the line, and releases it.
void LineReader::skim_pending() {
  if (!skim_) skim_.emplace();
  skim_->feed({buffer_->data() + begin_, end_ - begin_});
  begin_ = searched_ = end_;
}

void make_one_line(std::span<char> text) {
  const auto has = [&](char c) { return std::memchr(text.data(), c, text.size()) != nullptr; };
  if (text.empty() || (!has('\n') && !has('\r'))) return;
  JsonCursor cursor({text.data(), text.size()});
  if (!cursor.value() || !cursor.end()) return;
  std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
}

}  // namespace mcpivot
