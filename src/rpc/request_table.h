// The requests that we have sent to one peer and that it has not answered yet, under ids of our own: whose
// they are, and the id and progress token that their sender uses for them.
//
// Our ids count up from 1, so that they fit into any peer's integers and read well in a log. The low bits of
// an id say where its request is kept; an id whose slot is taken by a request that is still open is skipped.
// So every lookup touches one slot, and a typical request allocates nothing.
//
// A progress token toward the peer is the request's id. The token of a task can be kept beyond the first
// answer, because the task goes on reporting under it; beyond a limit, the oldest of those are forgotten.
//
// One thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "rpc/attempts.h"
#include "rpc/kept_message.h"
#include "rpc/message.h"

namespace mcpivot {

// One of our ids as JSON text.
class IdText {
 public:
  explicit IdText(std::int64_t id) { end_ = std::to_chars(text_, text_ + sizeof(text_), id).ptr; }
  std::string_view view() const { return {text_, static_cast<std::size_t>(end_ - text_)}; }

 private:
  char text_[24];
  char* end_;
};

// Our id that this text spells, or 0 if it isn't one. Peers whose only number type is double may write 7.0.
inline std::int64_t own_id(std::string_view text) {
  std::int64_t id = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, id);
  if (error == std::errc() && rest == end) return id;
  double number = 0;
  auto [tail, trouble] = std::from_chars(text.data(), end, number);
  const bool whole = trouble == std::errc() && tail == end && number == std::floor(number);
  return whole && number > 0 && number < 9e15 ? static_cast<std::int64_t>(number) : 0;
}

// A table whose open requests must be counted by origin has a tally of its own.
template <class Origin>
struct NoTally {
  void opened(const Origin&) {}
  void closed(const Origin&) {}
};

template <class Origin, class Tally = NoTally<Origin>>
class RequestTable {
 public:
  struct Request {
    Origin origin{};
    KeptMessage kept{};  // the whole message; empty for a question of our own
    Span id_at{}, token_at{}, method_at{}, name_at{};
    Method known = Method::other;
    bool task = false;
    Attempts sent_before{};      // to earlier generations, which died
    std::uint64_t position = 0;  // its end in the stream of bytes to the peer
    Clock::Time asked{};
    Clock::Time since{};  // of the last sign of life

    // As its sender spelled them, strings with their quotes; empty if it has none.
    std::string_view id() const { return id_at.of(kept.raw()); }
    std::string_view token() const { return token_at.of(kept.raw()); }
    std::string_view method() const { return method_at.of(kept.raw()); }
    std::string_view name() const { return name_at.of(kept.raw()); }
  };

  explicit RequestTable(const Clock& clock) : RequestTable(clock, usual_slots) {}
  // As small as possible: for peers that are rarely asked anything, where thousands of tables are kept.
  static RequestTable small(const Clock& clock) { return RequestTable(clock, 2); }

  // Adds another party's request that goes to the peer, with these edits. Returns our id for it.
  std::int64_t add(const Message& message, Origin origin, std::span<const Edit> edits = {}) {
    const std::int64_t id = add_own(std::move(origin));
    Request& request = slot(id).request;
    request.kept.keep(message, edits);
    request.id_at = message.id;
    request.token_at = message.progress_token;
    request.method_at = message.method;
    request.name_at = message.name;
    if (!edits.empty()) move_places(request, edits);
    request.known = message.known;
    request.task = message.task;
    return id;
  }

  // Whether the time of this request is known to the microsecond: that of the first ones, and later of every
  // 16th. Reading the finer clock is a tenth of a request's cost.
  static bool is_timed(std::int64_t id) { return id <= 256 || id % 16 == 0; }

  // A question of our own.
  std::int64_t add_own(Origin origin) {
    if (2 * (size_ + 1) > slots_.size()) resize(2 * slots_.size());
    do ++last_id_;
    while (slot(last_id_).id != 0);
    ++size_;
    Slot& free = slot(last_id_);
    free.id = last_id_;
    tally_.opened(origin);
    free.request.origin = std::move(origin);
    free.request.known = Method::other;
    free.request.task = false;
    free.request.sent_before = {};
    free.request.position = 0;
    free.request.asked = free.request.since = is_timed(last_id_) ? clock_.now() : clock_.about_now();
    return last_id_;
  }

  // While it lives, an open request that was found stays where it is, whatever is added in the meantime.
  class Hold {
   public:
    explicit Hold(RequestTable& table) : table_(table) { ++table_.holds_; }
    ~Hold() {
      if (--table_.holds_ == 0 && !table_.outgrown_.empty()) table_.drop_outgrown();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    RequestTable& table_;
  };

  // The open request with this id of ours, or null. Valid until it is closed or, if the table isn't held,
  // another one is added.
  Request* find(std::int64_t id) { return is_open(id) ? &slot(id).request : nullptr; }

  // It has been answered. Its memory is kept for the next one.
  void close(std::int64_t id) {
    if (!is_open(id)) return;
    tally_.closed(slot(id).request.origin);
    free(id);
  }

  // Takes a request out of the table.
  std::optional<Request> take(std::int64_t id) {
    if (!is_open(id)) return std::nullopt;
    tally_.closed(slot(id).request.origin);
    std::optional<Request> request(std::move(slot(id).request));
    free(id);
    return request;
  }

  // It is being answered with a task, which goes on reporting under the request's token, to this origin:
  // the caller may not outlive the answer.
  void keep_token(std::int64_t id, Origin origin) {
    if (!is_open(id) || !slot(id).request.task || !slot(id).request.token_at) return;
    task_tokens_.emplace(id, TaskToken{std::move(origin), std::string(slot(id).request.token())});
    token_order_.push_back(id);
    if (token_order_.size() <= most_task_tokens) return;
    task_tokens_.erase(token_order_.front());
    token_order_.pop_front();
  }

  struct Token {
    Origin origin;
    std::string_view text;  // valid until a request is added, closed or taken
  };
  // The origin of the request whose progress the peer reports under this token of ours.
  std::optional<Token> find_token(std::int64_t id) const {
    if (is_open(id) && slot(id).request.token_at)
      return Token{slot(id).request.origin, slot(id).request.token()};
    const auto kept = task_tokens_.find(id);
    if (kept == task_tokens_.end()) return std::nullopt;
    return Token{kept->second.origin, kept->second.text};
  }

  // Our id of the request that its sender knows by this one, or 0. Searches all open requests: only
  // cancellations need it, and an index would make every call slower.
  template <class Predicate>
  std::int64_t find_original(std::string_view id, Predicate&& is_from) const {
    for (const auto& [own, request] : slots_)
      if (own != 0 && same_id(request.id(), id) && is_from(request.origin)) return own;
    return 0;
  }

  // There was a sign of life of this request, if it is open.
  void touch(std::int64_t id) {
    if (is_open(id)) slot(id).request.since = clock_.about_now();
  }

  struct Taken {
    std::int64_t own;  // our id for it
    Request request;
  };
  // Takes out all matching requests, in the order in which they were made.
  template <class Predicate>
  std::vector<Taken> take_if(Predicate&& fits) {
    std::vector<std::int64_t> ids;
    for (const auto& [id, request] : slots_)
      if (id != 0 && fits(request)) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    std::vector<Taken> taken;
    taken.reserve(ids.size());
    for (const std::int64_t id : ids) taken.push_back({id, *take(id)});
    return taken;
  }

  // Forgets the tasks of these origins.
  template <class Predicate>
  void drop_tokens(Predicate&& is_from) {
    std::erase_if(task_tokens_, [&](const auto& entry) { return is_from(entry.second.origin); });
  }

  std::size_t size() const { return size_; }
  Tally& tally() { return tally_; }
  const Tally& tally() const { return tally_; }
  // Our ids of all open requests, in order.
  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> ids;
    for (const Slot& slot : slots_)
      if (slot.id != 0) ids.push_back(slot.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  template <class Predicate>
  std::size_t count_if(Predicate&& fits) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(slots_, [&](const Slot& slot) { return slot.id != 0 && fits(slot.request); }));
  }

 private:
  static constexpr std::size_t usual_slots = 256;  // a power of two, as all sizes are
  static constexpr std::size_t most_task_tokens = 1024;

  RequestTable(const Clock& clock, std::size_t slots) : clock_(clock), first_slots_(slots), slots_(slots) {}

  struct TaskToken {
    Origin origin;
    std::string text;
  };
  struct Slot {
    std::int64_t id = 0;  // 0: free
    Request request;
  };
  Slot& slot(std::int64_t id) { return slots_[static_cast<std::size_t>(id) & (slots_.size() - 1)]; }
  const Slot& slot(std::int64_t id) const {
    return slots_[static_cast<std::size_t>(id) & (slots_.size() - 1)];
  }
  bool is_open(std::int64_t id) const { return id != 0 && slot(id).id == id; }

  void free(std::int64_t id) {
    Request& request = slot(id).request;
    request.kept.drop();
    request.id_at = request.token_at = request.method_at = request.name_at = Span();
    slot(id).id = 0;
    if (--size_ == 0 && slots_.size() > first_slots_) resize(first_slots_);
  }
  [[gnu::noinline]] void drop_outgrown() { outgrown_.clear(); }
  [[gnu::noinline]] static void move_places(Request& request, std::span<const Edit> edits) {
    for (Span* const place : {&request.id_at, &request.token_at, &request.method_at, &request.name_at})
      if (*place) *place = moved(*place, edits);
  }

  // Ids with different slots in a small table have different ones in a larger one. Shrinks only if empty.
  void resize(std::size_t size) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
    for (Slot& kept : old)
      if (kept.id != 0) slot(kept.id) = holds_ == 0 ? std::move(kept) : kept;
    if (holds_ > 0) outgrown_.push_back(std::move(old));
  }

  const Clock& clock_;
  std::int64_t last_id_ = 0;
  std::size_t size_ = 0;
  const std::size_t first_slots_;
  std::vector<Slot> slots_;
  std::vector<std::vector<Slot>> outgrown_;  // while it is held
  int holds_ = 0;
  [[no_unique_address]] Tally tally_;
  std::unordered_map<std::int64_t, TaskToken> task_tokens_;
  std::deque<std::int64_t> token_order_;  // oldest first
};

}  // namespace mcpivot
