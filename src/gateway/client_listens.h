// What a modern client listens to: its `subscriptions/listen` requests, which stay open until it cancels
// them. They are handled here, whatever the servers are: a server that is restarted, replaced or of the
// legacy era makes no difference to them.
//
// Plain data; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/listen_filter.h"
#include "rpc/message.h"

namespace mcpivot {

class ClientListens {
 public:
  // A line for one of them, in the exchange that it came with.
  struct Line {
    std::uint32_t exchange;
    std::string text;
  };

  // A client needs one or two; but all clients over HTTP that are the same to us have these together.
  static constexpr std::size_t most_listens = 4096;
  // Returns the first message for the client, or nothing if it already has too many of them.
  std::string open(std::uint32_t exchange, const Message& request);
  // Closes the listen with this id that came in this exchange or, if that is 0, in any. Returns its exchange;
  // nothing: there is none.
  std::optional<std::uint32_t> close(std::uint32_t exchange, std::string_view id);
  bool empty() const { return open_.empty(); }

  // The notifications about this change, one for each listen that wants it.
  std::vector<Line> changed(ListKind kind) const;
  std::vector<Line> updated(const Message& notification) const;
  // The answers that end them, because mcpivot is ending.
  std::vector<Line> farewells() const;
  // The resources that any of them listens for.
  Uris uris() const;

 private:
  struct Listen {
    std::uint32_t exchange;
    std::string id;  // as the client spelled it
    ListenFilter wanted;
  };
  std::vector<Listen> open_;
};

}  // namespace mcpivot
