// What a modern client listens to: its `subscriptions/listen` requests, which stay open until it cancels
// them. They end here, whatever the servers are: a server that is restarted, replaced or of the legacy era
// makes no difference to them.
//
// Plain data; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/listen_filter.h"
#include "rpc/message.h"

namespace mcpivot {

class ClientListens {
 public:
  // Returns what the client is told first; or, if it has too many of them already, nothing.
  std::string open(const Message& request);
  // False: it has none of this id.
  bool close(std::string_view id);
  bool empty() const { return open_.empty(); }

  // The notifications that tell of this, one for each that wants to hear it.
  std::vector<std::string> changed(ListKind kind) const;
  std::vector<std::string> updated(const Message& notification) const;
  // The answers that end them, because mcpivot ends.
  std::vector<std::string> farewells() const;
  // The resources that any of them wants to hear of.
  Uris uris() const;

 private:
  struct Listen {
    std::string id;  // as the client spelled it
    ListenFilter wanted;
  };
  std::vector<Listen> open_;
};

}  // namespace mcpivot
