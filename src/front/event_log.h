// What a legacy session was sent on its streams, for as long as it may ask for it again: an event has an id
// that names its stream and its place there, and a client whose connection broke goes on behind the last one
// that it got (`Last-Event-ID`).
//
// Bounded: the oldest are forgotten first. All sessions together are bounded, too: the one that keeps the
// most forgets first, so that nobody takes from the others what they may come back for.
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {

// One event as it is written: an id, if it has one, and the lines of its data.
std::string event_text(std::string_view id, std::string_view data);

class EventLog;

// What all logs may keep together.
class EventRoom {
 public:
  static constexpr std::size_t usual_bytes = 256 * 1024 * 1024;

  explicit EventRoom(std::size_t most_bytes = usual_bytes) : most_bytes_(most_bytes) {}
  EventRoom(const EventRoom&) = delete;
  EventRoom& operator=(const EventRoom&) = delete;

  std::size_t bytes() const { return bytes_; }

 private:
  friend class EventLog;
  // A log keeps so much now. Whichever keeps the most forgets something, if it is too much.
  void resized(EventLog& log, std::size_t before, std::size_t now);
  void make_room();

  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::set<std::pair<std::size_t, EventLog*>> by_size_;  // those that keep anything
  bool told_ = false;                                    // that something was forgotten
};

class EventLog {
 public:
  static constexpr std::size_t most_events = 1024;
  static constexpr std::size_t most_bytes = 4 * 1024 * 1024;

  // A place in a stream. Streams have the numbers of the exchanges that they belong to; 0 is the one for what
  // belongs to none.
  struct Place {
    std::uint32_t stream = 0;
    std::uint64_t number = 0;
    bool ours = true;  // false: in an earlier life of the session, of which nothing is known
    bool operator==(const Place&) const = default;
  };

  // `life` is unlike any other's of the session: ids must never mean two things. Letters and digits. The room
  // must outlive it.
  EventLog(std::string life, EventRoom& room) : life_(std::move(life)), room_(room) {}
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  std::optional<Place> read_id(std::string_view id) const;

  // Keeps it, and returns it as it is written. `sent`: there is a connection that it leaves on.
  std::string add(std::uint32_t stream, std::string_view data, bool sent);
  // How long a client waits before it comes back, if its stream breaks.
  static constexpr std::chrono::milliseconds retry{500};
  // An event without data, by which a client learns where it is.
  std::string prime(std::uint32_t stream);
  // What comes behind this place in its stream; they are sent now.
  std::vector<std::string> after(Place place);
  // What of a stream was never sent; it is now.
  std::vector<std::string> unsent(std::uint32_t stream);
  // Whether it has anything of a stream.
  bool has(std::uint32_t stream) const;

 private:
  friend class EventRoom;
  struct Event {
    Place place;
    std::string text;
    bool sent;
    std::size_t bytes() const { return text.size() + sizeof(Event); }
  };
  std::string id_of(std::uint32_t stream);
  void forget_oldest();

  const std::string life_;
  EventRoom& room_;
  std::deque<Event> events_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;  // ids are unique among all streams of the session
};

}  // namespace mcpivot
