// Callers that wait to learn what a server offers: clients in their handshake, and requests that need its
// lists. They wait until it is ready, has failed, or takes too long.
//
// One thread.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/message.h"
#include "server/ids.h"

namespace mcpivot {

class OfferWaits {
 public:
  // `id`: of a request, which can be cancelled; empty: it is a handshake.
  void add(Asker asker, std::string id, std::function<void()> then) {
    waits_.push_back({asker, std::move(id), std::move(then)});
  }
  // A client cancels its request. Returns who asked; null: it isn't here.
  std::optional<Asker> cancel(Asker by, const Message& cancelled) {
    const auto found = std::ranges::find_if(waits_, [&](const Wait& one) {
      return by.speaks_for(one.asker) && same_id(one.id, cancelled.text(cancelled.request_id));
    });
    if (found == waits_.end()) return std::nullopt;
    const Asker asker = found->asker;
    waits_.erase(found);
    return asker;
  }
  // A client is gone, and doesn't wait any more.
  void forget(ClientId client) {
    std::erase_if(waits_, [&](const Wait& one) { return one.asker.client == client; });
  }
  // Releases all waiting callers, except those that begin to wait again because of that.
  void release() {
    for (const Wait& one : std::exchange(waits_, {})) one.then();
  }

  bool empty() const { return waits_.empty(); }
  std::size_t size() const { return waits_.size(); }
  template <class Whom>
  bool has(const Whom& whom) const {
    return std::ranges::any_of(waits_, [&](const Wait& one) { return whom(one.asker.client); });
  }

 private:
  struct Wait {
    Asker asker;
    std::string id;
    std::function<void()> then;
  };
  std::vector<Wait> waits_;
};

}  // namespace mcpivot
