// The open `subscriptions/listen` requests of a legacy server's clients. The server announces changes to
// everybody and has one subscription per resource; here, each announcement is passed to the clients that
// listen for it, with the id of their listen, and a resource stays subscribed as long as any of them listens
// for it.
//
// One thread; the ends may call back in the middle of a function.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "bridge/bridge.h"
#include "mcp/listen_filter.h"

namespace mcpivot {

class Listens {
 public:
  explicit Listens(Bridge::Ends& ends) : ends_(ends) {}

  // Opens a listen that the generation knows by this id, at a server with these capabilities: acknowledges
  // the part that the server supports, or refuses it.
  void open(std::int64_t id, const Message& listen, std::string_view capabilities);
  // It is cancelled, and gets no answer. False: it isn't open.
  bool close(std::int64_t id);
  bool is_open(std::int64_t id) const { return open_.contains(id); }

  // A list or a resource has changed: tells every client that listens for that. False: none does.
  bool announce(const Message& change);

  // A legacy client's own subscription, which doesn't go through here; and whether a change is about such a
  // resource.
  void subscribed_elsewhere(const Message& request);
  bool is_subscribed_elsewhere(const Message& update) const;

 private:
  bool is_wanted(const std::string& uri) const;
  void send(std::string_view method, std::string_view uri);

  Bridge::Ends& ends_;
  std::map<std::int64_t, ListenFilter> open_;
  std::set<std::string> elsewhere_;
  int sent_ = 0;
};

}  // namespace mcpivot
