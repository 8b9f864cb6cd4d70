// The requests that we have put to one peer and that it has not answered yet, under ids of our own: whose
// they were, and by which id and progress token their sender knows them.
//
// Our ids count up from 1, so that they fit into any peer's integers and read well in a log. The last bits of
// an id say where its request is kept; an id whose place is taken by a request that is still open is skipped.
// So every step is a look at one place, and nothing is allocated for a usual request.
//
// A progress token toward the peer is the request's id. The token of a task stays known after the first
// answer, because the task goes on reporting under it; the oldest of those are forgotten beyond a limit.
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

#include "rpc/message.h"

namespace mcpivot {

// An id of ours as JSON text.
class IdText {
 public:
  explicit IdText(std::int64_t id) { end_ = std::to_chars(text_, text_ + sizeof(text_), id).ptr; }
  std::string_view view() const { return {text_, static_cast<std::size_t>(end_ - text_)}; }

 private:
  char text_[24];
  char* end_;
};

// The id of ours that this text spells, or 0, which is none. Peers whose only number is a double may
// write 7.0.
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

template <class Origin>
class RequestTable {
 public:
  struct Request {
    Origin origin{};
    std::string id{};      // as its sender spelled it
    std::string token{};   // likewise; empty: it has none
    std::string method{};  // with its quotes
    std::string name{};    // params.name, with its quotes; may be empty
    Method known = Method::other;
    bool task = false;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  };

  static Request from(const Message& message, Origin origin) {
    return {.origin = std::move(origin),
            .id = std::string(message.text(message.id)),
            .token = std::string(message.text(message.progress_token)),
            .method = std::string(message.text(message.method)),
            .name = std::string(message.text(message.name)),
            .known = message.known,
            .task = message.task};
  }

  std::int64_t add(Request request) {
    if (2 * (size_ + 1) > slots_.size()) resize(2 * slots_.size());
    do ++last_id_;
    while (slot(last_id_).id != 0);
    slot(last_id_) = {last_id_, std::move(request)};
    ++size_;
    return last_id_;
  }

  // Takes the request that has been answered out of the table.
  std::optional<Request> take(std::int64_t id) {
    if (!is_open(id)) return std::nullopt;
    std::optional<Request> request = std::move(slot(id).request);
    slot(id).id = 0;
    if (--size_ == 0 && slots_.size() > usual_slots) resize(usual_slots);
    if (request->task && !request->token.empty()) remember_token(id, *request);
    return request;
  }

  struct Token {
    Origin origin;
    std::string text;
  };
  // Whose progress it is that the peer reports under this token of ours.
  std::optional<Token> find_token(std::int64_t id) const {
    if (is_open(id) && !slot(id).request.token.empty())
      return Token{slot(id).request.origin, slot(id).request.token};
    auto kept = task_tokens_.find(id);
    return kept != task_tokens_.end() ? std::optional(kept->second) : std::nullopt;
  }

  // Our id of the request that its sender knows by this one, or 0. A search through all that are open: only
  // cancellations need it, and an index would cost every call something.
  template <class Predicate>
  std::int64_t find(std::string_view id, Predicate&& is_from) const {
    for (const auto& [own, request] : slots_)
      if (own != 0 && same_id(request.id, id) && is_from(request.origin)) return own;
    return 0;
  }

  struct Taken {
    std::int64_t own;  // our id for it
    Request request;
  };
  // Takes out all requests that fit, in the order in which they were made.
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

  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t usual_slots = 256;  // a power of two, as all sizes are
  static constexpr std::size_t most_task_tokens = 1024;

  struct Slot {
    std::int64_t id = 0;  // 0: free
    Request request;
  };
  Slot& slot(std::int64_t id) { return slots_[static_cast<std::size_t>(id) & (slots_.size() - 1)]; }
  const Slot& slot(std::int64_t id) const {
    return slots_[static_cast<std::size_t>(id) & (slots_.size() - 1)];
  }
  bool is_open(std::int64_t id) const { return id != 0 && slot(id).id == id; }

  // Ids that have different places in a smaller table have so in a larger one. It shrinks only when empty.
  void resize(std::size_t size) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
    for (Slot& kept : old)
      if (kept.id != 0) slot(kept.id) = std::move(kept);
  }

  void remember_token(std::int64_t id, const Request& request) {
    task_tokens_.emplace(id, Token{request.origin, request.token});
    token_order_.push_back(id);
    if (token_order_.size() > most_task_tokens) {
      task_tokens_.erase(token_order_.front());
      token_order_.pop_front();
    }
  }

  std::int64_t last_id_ = 0;
  std::size_t size_ = 0;
  std::vector<Slot> slots_ = std::vector<Slot>(usual_slots);
  std::unordered_map<std::int64_t, Token> task_tokens_;
  std::deque<std::int64_t> token_order_;  // oldest first
};

}  // namespace mcpivot
