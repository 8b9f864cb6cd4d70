// What a `subscriptions/listen` is about: the changes that it asks for, and how the messages of a listen
// spell them and its id. The one place that reads and writes this format.
//
// Any thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "mcp/catalog.h"
#include "rpc/message.h"

namespace mcpivot {

using Uris = std::set<std::string, std::less<>>;  // as values, not as JSON text

struct ListenFilter {
  bool tools = false;
  bool prompts = false;
  bool resources = false;
  Uris uris{};

  bool empty() const { return !tools && !prompts && !resources && uris.empty(); }
  bool has(ListKind kind) const;
  // Whether it asks for this change.
  bool wants(const Message& change) const;
  bool operator==(const ListenFilter&) const = default;
};

// From and to the JSON text of `notifications`. Anything not understood is left out.
ListenFilter listen_filter_of(std::string_view notifications);
std::string text_of(const ListenFilter& filter);
// The lists whose changes a server with these capabilities announces.
ListenFilter announced_lists(std::string_view capabilities);

// The first message of a listen: what will be reported. Ids are JSON text.
std::string listen_acknowledged(std::string_view id, const ListenFilter& honoured);
// The `_meta` member of a message that belongs to a listen.
std::string subscription_meta(std::string_view id);
// The notification, marked as belonging to a listen.
std::string with_subscription(const Message& notification, std::string_view id);

}  // namespace mcpivot
