// Calls that waited for their client's input when their generation died. Their clients can't be told at that
// time; each is told when it comes back with its input.
//
// One thread.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "rpc/message.h"

namespace mcpivot {

class LostCalls {
 public:
  static constexpr std::size_t most = 64;

  // What became of the call with this requestState, in words. Beyond the limit, the oldest is forgotten.
  void add(std::string state, std::string words) {
    calls_.push_back({std::move(state), std::move(words)});
    if (calls_.size() > most) calls_.pop_front();
  }
  // The same for the call that this request continues. Null: it wasn't lost.
  const std::string* find(const Message& request) const {
    if (!request.request_state) return nullptr;
    const std::string state = string_value(request.text(request.request_state));
    const auto found = std::ranges::find(calls_, state, &Call::state);
    return found == calls_.end() ? nullptr : &found->words;
  }

 private:
  struct Call {
    std::string state;
    std::string words;
  };
  std::deque<Call> calls_;
};

}  // namespace mcpivot
