#include "gateway/client_listens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "mcp/era.h"
#include "mcp/resource_uri.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// A client needs one or two.
constexpr std::size_t most_listens = 64;
constexpr std::size_t most_uris = 1024;

std::string tag(std::string_view id) {
  return fmt::format(R"("_meta":{{"{}":{}}})", meta_key::subscription, id);
}

std::vector<std::string> strings_in(std::string_view list) {
  std::vector<std::string> found;
  if (!list.starts_with('[')) return found;
  JsonCursor cursor(list);
  cursor.array([&] {
    Span value;
    if (!cursor.value(value)) return false;
    if (value.of(list).starts_with('"') && found.size() < most_uris) found.emplace_back(value.of(list));
    return true;
  });
  return found;
}

}  // namespace

std::string ClientListens::open(std::uint32_t exchange, const Message& request) {
  if (open_.size() >= most_listens) return {};
  const std::string_view wanted = find_member(request.text(request.params), "notifications");
  const auto wants = [&](std::string_view key) { return find_member(wanted, key) == "true"; };
  const Listen& listen =
      open_.emplace_back(Listen{.exchange = exchange,
                                .id = std::string(request.text(request.id)),
                                .tools = wants("toolsListChanged"),
                                .prompts = wants("promptsListChanged"),
                                .resources = wants("resourcesListChanged"),
                                .uris = strings_in(find_member(wanted, "resourceSubscriptions"))});
  std::string granted;
  const auto grant = [&](std::string_view key, std::string_view value) {
    granted += fmt::format(R"({}"{}":{})", granted.empty() ? "" : ",", key, value);
  };
  if (listen.tools) grant("toolsListChanged", "true");
  if (listen.prompts) grant("promptsListChanged", "true");
  if (listen.resources) grant("resourcesListChanged", "true");
  if (!listen.uris.empty()) grant("resourceSubscriptions", fmt::format("[{}]", fmt::join(listen.uris, ",")));
  return request_line({}, "notifications/subscriptions/acknowledged",
                      fmt::format(R"({{{},"notifications":{{{}}}}})", tag(listen.id), granted));
}

std::optional<std::uint32_t> ClientListens::close(std::uint32_t exchange, std::string_view id) {
  const auto found = std::ranges::find_if(open_, [&](const Listen& listen) {
    return (exchange == 0 || listen.exchange == exchange) && same_id(listen.id, id);
  });
  if (found == open_.end()) return std::nullopt;
  const std::uint32_t closed = found->exchange;
  open_.erase(found);
  return closed;
}

std::vector<ClientListens::Line> ClientListens::changed(ListKind kind) const {
  const auto wanted = kind == ListKind::tools     ? &Listen::tools
                      : kind == ListKind::prompts ? &Listen::prompts
                                                  : &Listen::resources;
  std::vector<Line> lines;
  for (const Listen& listen : open_)
    if (listen.*wanted)
      lines.push_back({listen.exchange,
                       request_line({}, words(kind).notification, fmt::format("{{{}}}", tag(listen.id)))});
  return lines;
}

// The server's own params pass, under each subscription's id.
std::vector<ClientListens::Line> ClientListens::updated(const Message& notification) const {
  std::vector<Line> lines;
  const std::string uri = string_value(notification.text(notification.uri));
  for (const Listen& listen : open_) {
    if (!std::ranges::any_of(listen.uris,
                             [&](const std::string& one) { return is_within(uri, string_value(one)); }))
      continue;
    std::string line(notification.raw);
    if (notification.subscription) {
      line.replace(notification.subscription.begin, notification.subscription.size, listen.id);
      lines.push_back({listen.exchange, std::move(line)});
    } else {
      lines.push_back(
          {listen.exchange, with_meta(line, fmt::format(R"("{}":{})", meta_key::subscription, listen.id))});
    }
  }
  return lines;
}

std::vector<ClientListens::Line> ClientListens::farewells() const {
  std::vector<Line> lines;
  for (const Listen& listen : open_)
    lines.push_back(
        {listen.exchange,
         result_answer(listen.id, fmt::format(R"({{"resultType":"complete",{}}})", tag(listen.id)))});
  return lines;
}

std::vector<std::string> ClientListens::uris() const {
  std::vector<std::string> all;
  for (const Listen& listen : open_)
    for (const std::string& uri : listen.uris)
      if (!contains(all, uri)) all.push_back(uri);
  return all;
}

}  // namespace mcpivot
