#include "mcp/listen_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "mcp/era.h"
#include "mcp/resource_uri.h"
#include "rpc/answers.h"
#include "rpc/edit.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::string_view tools_member = "toolsListChanged";
constexpr std::string_view prompts_member = "promptsListChanged";
constexpr std::string_view resources_member = "resourcesListChanged";
constexpr std::string_view uris_member = "resourceSubscriptions";

bool is_true(std::string_view object, std::string_view key) {
  return find_member(object, key) == "true";
}

}  // namespace

// Templates have no notification of their own: they change with the resources.
bool ListenFilter::has(ListKind kind) const {
  return kind == ListKind::tools ? tools : kind == ListKind::prompts ? prompts : resources;
}

bool ListenFilter::wants(const Message& change) const {
  switch (change.known) {
    case Method::tools_changed:
      return tools;
    case Method::prompts_changed:
      return prompts;
    case Method::resources_changed:
      return resources;
    case Method::resource_updated: {
      const std::string uri = string_value(change.text(change.uri));
      return std::ranges::any_of(uris, [&](const std::string& one) { return is_within(uri, one); });
    }
    default:
      return false;
  }
}

ListenFilter listen_filter_of(std::string_view notifications) {
  ListenFilter filter{.tools = is_true(notifications, tools_member),
                      .prompts = is_true(notifications, prompts_member),
                      .resources = is_true(notifications, resources_member)};
  const std::string_view uris = find_member(notifications, uris_member);
  if (!uris.starts_with('[')) return filter;
  JsonCursor cursor(uris);
  cursor.array([&] {
    Span uri;
    if (!cursor.value(uri)) return false;
    if (uri.of(uris).starts_with('"')) filter.uris.insert(string_value(uri.of(uris)));
    return true;
  });
  return filter;
}

std::string text_of(const ListenFilter& filter) {
  std::string members;
  const auto add = [&](std::string_view key, std::string_view value) {
    members += fmt::format(R"({}"{}":{})", members.empty() ? "" : ",", key, value);
  };
  if (filter.tools) add(tools_member, "true");
  if (filter.prompts) add(prompts_member, "true");
  if (filter.resources) add(resources_member, "true");
  if (!filter.uris.empty()) {
    std::string list;
    for (const std::string& uri : filter.uris) list += (list.empty() ? "" : ",") + quote(uri);
    add(uris_member, "[" + list + "]");
  }
  return "{" + members + "}";
}

ListenFilter announced_lists(std::string_view capabilities) {
  const auto announces = [&](ListKind kind) {
    return is_true(find_member(capabilities, words(kind).capability), "listChanged");
  };
  return {.tools = announces(ListKind::tools),
          .prompts = announces(ListKind::prompts),
          .resources = announces(ListKind::resources)};
}

std::string listen_acknowledged(std::string_view id, const ListenFilter& honoured) {
  return request_line({}, "notifications/subscriptions/acknowledged",
                      fmt::format(R"({{{},"notifications":{}}})", subscription_meta(id), text_of(honoured)));
}

std::string subscription_meta(std::string_view id) {
  return fmt::format(R"("_meta":{{"{}":{}}})", meta_key::subscription, id);
}

std::string with_subscription(const Message& notification, std::string_view id) {
  std::string line;
  if (notification.subscription) {
    const Edit edit{notification.subscription, id};
    line = spliced(notification.raw, {&edit, 1});
  } else {
    line = with_meta_members(notification, fmt::format(R"("{}":{})", meta_key::subscription, id));
  }
  if (read_message(line)) return line;
  // Next to a key that differs from ours only in capitals, ours would be ambiguous.
  std::string params = "{" + subscription_meta(id);
  if (notification.uri) params += fmt::format(R"(,"uri":{})", notification.text(notification.uri));
  return request_line({}, string_value(notification.text(notification.method)), params + "}");
}

}  // namespace mcpivot
