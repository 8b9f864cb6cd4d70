// Parses a stream of server-sent events as it comes in, in pieces of any size, and never holds more than one
// event of the permitted size: a longer one is skimmed as it streams past and reported.
//
//   while (auto event = parser.next(piece)) …    // takes from the front of the piece until it is empty
//
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/buffer.h"
#include "rpc/skim.h"

namespace mcpivot {

class SseParser {
 public:
  static constexpr std::size_t longest_id = 4096;

  explicit SseParser(std::size_t limit) : limit_(limit) {}

  struct Event {
    std::string type;          // empty: "message"
    std::string_view data;     // valid until the next call of next(), or as long as buffer() is kept
    std::optional<Skim> over;  // the data was over the limit; this is what is known about it
  };
  // The next event that is complete within the piece. Events without data are skipped.
  std::optional<Event> next(std::string_view& piece);

  // What holds the data of the last event. The bytes may be changed.
  const BufferRef& buffer() const { return buffer_; }
  // The id of the last event, from which a broken stream can be resumed. Empty: it can't.
  const std::string& last_id() const { return last_id_; }
  // How long the server wants us to wait before reconnecting.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }
  // How much of an event over the limit has gone by.
  std::uint64_t skimmed() const { return skim_ ? skim_->size() : 0; }
  // Forgets the part of an event that was cut off. The ids stay.
  void restart();

 private:
  enum class Field : std::uint8_t { name, data, type, id, retry, unknown };

  void take_name(std::string_view& piece);
  void begin_value();
  void take_value(std::string_view part);
  bool end_line();
  void add_data(std::string_view part);
  Event dispatch();

  std::size_t limit_;
  BufferRef buffer_;
  std::size_t size_ = 0;  // of the data so far
  std::size_t given_ = 0;
  bool has_data_ = false;
  std::optional<Skim> skim_;
  Field field_ = Field::name;
  bool value_begins_ = false;  // a blank after the colon doesn't count
  bool after_return_ = false;  // the newline of a \r\n is still to come
  bool begun_ = false;         // past the byte order mark, if there is one
  std::string text_;           // a field's name, or the value of a short one
  std::string type_;
  std::string last_id_;
  std::optional<std::string> id_;  // of the event under way
  std::optional<std::chrono::milliseconds> retry_;
};

}  // namespace mcpivot
