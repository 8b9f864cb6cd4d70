#include "link/sse_parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace mcpivot {
namespace {

constexpr std::size_t usual_capacity = 4 * 1024;
constexpr std::size_t most_kept = 256 * 1024;
constexpr std::size_t longest_short_value = SseParser::longest_id;
constexpr std::size_t longest_name = 8;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

void SseParser::restart() {
  size_ = 0;
  has_data_ = false;
  skim_.reset();
  field_ = Field::name;
  value_begins_ = after_return_ = begun_ = false;
  text_.clear();
  type_.clear();
  id_.reset();
}

std::optional<SseParser::Event> SseParser::next(std::string_view& piece) {
  while (!piece.empty()) {
    if (after_return_) {
      after_return_ = false;
      if (piece.front() == '\n') {
        piece.remove_prefix(1);
        continue;
      }
    }
    if (field_ == Field::name) {
      take_name(piece);
    } else {
      const std::size_t length = std::min(piece.find_first_of("\r\n"), piece.size());
      take_value(piece.substr(0, length));
      piece.remove_prefix(length);
    }
    if (piece.empty() || (piece.front() != '\n' && piece.front() != '\r')) continue;
    after_return_ = piece.front() == '\r';
    piece.remove_prefix(1);
    if (end_line()) return dispatch();
  }
  return std::nullopt;
}

void SseParser::take_name(std::string_view& piece) {
  const std::size_t length = std::min(piece.find_first_of(":\r\n"), piece.size());
  if (text_.size() <= longest_name + byte_order_mark.size())
    text_ += piece.substr(0, std::min(length, longest_name + byte_order_mark.size() + 1 - text_.size()));
  piece.remove_prefix(length);
  if (piece.empty() || piece.front() != ':') return;
  piece.remove_prefix(1);
  begin_value();
}

// The name of a field is complete.
void SseParser::begin_value() {
  if (!begun_ && text_.starts_with(byte_order_mark)) text_.erase(0, byte_order_mark.size());
  begun_ = true;
  field_ = text_ == "data"    ? Field::data
           : text_ == "event" ? Field::type
           : text_ == "id"    ? Field::id
           : text_ == "retry" ? Field::retry
                              : Field::unknown;
  text_.clear();
  value_begins_ = true;
  if (field_ != Field::data) return;
  if (has_data_) add_data("\n");
  has_data_ = true;
}

void SseParser::take_value(std::string_view part) {
  if (part.empty()) return;
  if (std::exchange(value_begins_, false) && part.front() == ' ') part.remove_prefix(1);
  if (field_ == Field::data) return add_data(part);
  if (field_ == Field::unknown) return;
  // One byte more than is allowed, to notice that there was more.
  text_ += part.substr(0, longest_short_value + 1 - std::min(text_.size(), longest_short_value + 1));
}

void SseParser::add_data(std::string_view part) {
  if (skim_) return skim_->feed(part);
  if (size_ + part.size() > limit_) {
    skim_.emplace();
    if (size_ > 0) skim_->feed({buffer_->data(), size_});
    return skim_->feed(part);
  }
  if (size_ == 0 && (!buffer_ || buffer_->shared() || buffer_->capacity() > most_kept))
    buffer_ = new Buffer(usual_capacity);
  if (size_ + part.size() > buffer_->capacity())
    buffer_->grow(std::max(size_ + part.size(), 2 * buffer_->capacity()));
  std::memcpy(buffer_->data() + size_, part.data(), part.size());
  size_ += part.size();
}

// True: it was the empty line after an event.
bool SseParser::end_line() {
  if (field_ == Field::name) {
    if (!begun_ && text_ == byte_order_mark) text_.clear();
    begun_ = true;
    const bool empty = text_.empty();
    if (!empty) begin_value();  // a name alone has an empty value
    if (empty) {
      if (id_) last_id_ = *std::exchange(id_, std::nullopt);
      const bool worth_telling = has_data_ && (size_ > 0 || skim_);
      if (!worth_telling) {
        has_data_ = false;
        type_.clear();
      }
      return worth_telling;
    }
  }
  const Field field = std::exchange(field_, Field::name);
  const std::string value = std::exchange(text_, {});
  value_begins_ = false;
  if (value.size() > longest_short_value) return false;
  if (field == Field::type) type_ = value;
  if (field == Field::id && value.find_first_of(std::string_view("\0\r\n", 3)) == std::string::npos)
    id_ = value;
  if (field == Field::retry) {
    std::uint32_t number = 0;
    const char* end = value.data() + value.size();
    auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc() && rest == end) retry_ = std::chrono::milliseconds(number);
  }
  return false;
}

SseParser::Event SseParser::dispatch() {
  Event event{std::exchange(type_, {}), {}, std::exchange(skim_, std::nullopt)};
  if (!event.over) event.data = {buffer_->data(), size_};
  size_ = 0;
  has_data_ = false;
  return event;
}

}  // namespace mcpivot
