// Which resources a subscription covers: the one that it names, and everything within that.
//
// Any thread.
#pragma once

#include <string_view>

namespace mcpivot {

// A server may report changes to a part of what was subscribed to.
constexpr bool is_within(std::string_view uri, std::string_view subscribed) {
  if (!uri.starts_with(subscribed)) return false;
  return uri.size() == subscribed.size() || subscribed.ends_with('/') ||
         std::string_view("/?#").find(uri[subscribed.size()]) != std::string_view::npos;
}

}  // namespace mcpivot
