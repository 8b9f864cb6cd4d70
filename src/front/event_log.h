// What a legacy session was sent on its streams, for as long as it may ask for it again: an event has an id
// that names its stream and its place there, and a client whose connection broke continues after the last
// event that it got (`Last-Event-ID`).
//
// Bounded: the oldest events are forgotten first. All sessions together are bounded too: the one that keeps
// the most forgets first, so that one session can't take away what another may come back for.
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
  // The size of a log has changed. If all are too large together, the largest forgets something.
  void resized(EventLog& log, std::size_t before, std::size_t now);
  void make_room();

  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::set<std::pair<std::size_t, EventLog*>> by_size_;  // the logs that keep anything
  bool told_ = false;                                    // logged that something was forgotten
};

class EventLog {
 public:
  static constexpr std::size_t most_events = 1024;
  static constexpr std::size_t most_bytes = 4 * 1024 * 1024;

  // A place in a stream. A stream has the number of its exchange; 0 is the stream for what belongs to
  // none.
  struct Place {
    std::uint32_t stream = 0;
    std::uint64_t number = 0;
    bool ours = true;  // false: from an earlier life of the session, about which nothing is known
    bool operator==(const Place&) const = default;
  };

  // `life` is unique among the lives of the session, so that no id means two things. Letters and digits. The
  // room must outlive it.
  EventLog(std::string life, EventRoom& room) : life_(std::move(life)), room_(room) {}
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  std::optional<Place> read_id(std::string_view id) const;

  // Keeps the event, and returns its text. `sent`: there is a connection to send it on.
  std::string add(std::uint32_t stream, std::string_view data, bool sent);
  // How long a client waits before it reconnects, if its stream breaks.
  static constexpr std::chrono::milliseconds retry{500};
  // An event without data, which tells a client where it is.
  std::string prime(std::uint32_t stream);
  // The events after this place in its stream; they count as sent.
  std::vector<std::string> after(Place place);
  // The events of a stream that were never sent; they count as sent now.
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
