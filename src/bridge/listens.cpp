#include "bridge/listens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "mcp/era.h"
#include "mcp/resource_uri.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

struct List {
  Method changed;
  std::string_view filter;  // the member of the filter that asks for it
  std::string_view capability;
};
constexpr std::array<List, 3> lists{{{Method::tools_changed, "toolsListChanged", "tools"},
                                     {Method::prompts_changed, "promptsListChanged", "prompts"},
                                     {Method::resources_changed, "resourcesListChanged", "resources"}}};

bool is_true(std::string_view object, std::string_view key) {
  return find_member(object, key) == "true";
}

std::set<std::string> strings_in(std::string_view array) {
  std::set<std::string> strings;
  if (!array.starts_with('[')) return strings;
  JsonCursor cursor(array);
  cursor.array([&] {
    Span where;
    if (!cursor.value(where)) return false;
    if (where.of(array).starts_with('"')) strings.insert(string_value(where.of(array)));
    return true;
  });
  return strings;
}

std::string tag_of(std::int64_t id) {
  return fmt::format(R"("{}":{})", meta_key::subscription, id);
}

// The notification with the id of a listen in its `_meta`.
void tag(const Message& change, std::int64_t id, Edits& edits) {
  const std::string_view params = change.text(change.params);
  const std::string_view meta = change.text(change.meta);
  if (change.subscription) {
    edits.replace(change.subscription, edits.keep(IdText(id).view()));
  } else if (meta.starts_with('{')) {
    edits.insert(change.meta.begin + 1, edits.keep(tag_of(id) + (is_empty_container(meta) ? "" : ",")));
  } else if (change.meta) {
    edits.replace(change.meta, edits.keep("{" + tag_of(id) + "}"));
  } else if (params.starts_with('{')) {
    edits.insert(change.params.begin + 1, edits.keep(fmt::format(R"("_meta":{{{}}}{})", tag_of(id),
                                                                 is_empty_container(params) ? "" : ",")));
  } else if (change.params) {
    edits.replace(change.params, edits.keep(fmt::format(R"({{"_meta":{{{}}}}})", tag_of(id))));
  } else {
    edits.insert(change.method.end(), edits.keep(fmt::format(R"(,"params":{{"_meta":{{{}}}}})", tag_of(id))));
  }
}

}  // namespace

bool Listens::Listen::wants(const Message& change) const {
  if (change.known != Method::resource_updated) return lists.contains(change.known);
  const std::string uri = string_value(change.text(change.uri));
  return std::ranges::any_of(uris, [&](const std::string& subscribed) { return is_within(uri, subscribed); });
}

void Listens::open(std::int64_t id, const Message& listen, std::string_view capabilities) {
  const std::string_view filter = find_member(listen.text(listen.params), "notifications");
  if (!filter.starts_with('{') || open_.contains(id)) {
    const std::string error =
        error_answer(IdText(id).view(), code::invalid_params,
                     "params.notifications must be an object that says what to listen for");
    return ends_.to_client(*read_message(error), {});
  }
  Listen wanted;
  std::string honoured;
  for (const List& list : lists) {
    if (!is_true(filter, list.filter) || !is_true(find_member(capabilities, list.capability), "listChanged"))
      continue;
    wanted.lists.insert(list.changed);
    honoured += fmt::format(R"({}"{}":true)", honoured.empty() ? "" : ",", list.filter);
  }
  if (is_true(find_member(capabilities, "resources"), "subscribe"))
    wanted.uris = strings_in(find_member(filter, "resourceSubscriptions"));
  std::vector<std::string> fresh;
  std::string spelled;
  for (const std::string& uri : wanted.uris) {
    if (!is_wanted(uri)) fresh.push_back(uri);
    spelled += fmt::format("{}{}", spelled.empty() ? "" : ",", quote(uri));
  }
  if (!spelled.empty())
    honoured += fmt::format(R"({}"resourceSubscriptions":[{}])", honoured.empty() ? "" : ",", spelled);
  open_.emplace(id, std::move(wanted));

  const std::string acknowledged =
      request_line({}, "notifications/subscriptions/acknowledged",
                   fmt::format(R"({{"_meta":{{{}}},"notifications":{{{}}}}})", tag_of(id), honoured));
  ends_.to_client(*read_message(acknowledged), {});
  for (const std::string& uri : fresh)
    if (is_wanted(uri)) send("resources/subscribe", uri);
}

bool Listens::close(std::int64_t id) {
  const auto closed = open_.extract(id);
  if (closed.empty()) return false;
  for (const std::string& uri : closed.mapped().uris)
    if (!is_wanted(uri)) send("resources/unsubscribe", uri);
  return true;
}

bool Listens::announce(const Message& change) {
  std::vector<std::int64_t> told;
  for (const auto& [id, listen] : open_)
    if (listen.wants(change)) told.push_back(id);
  for (const std::int64_t id : told) {
    if (!open_.contains(id)) continue;
    Edits edits;
    tag(change, id, edits);
    const std::string tagged = spliced(change.raw, edits.list());
    if (read_message(tagged)) {
      ends_.to_client(change, edits.list());
      continue;
    }
    // Next to a key that differs from ours by capitals alone, ours would be ambiguous.
    std::string params = fmt::format(R"({{"_meta":{{{}}})", tag_of(id));
    if (change.uri) params += fmt::format(R"(,"uri":{})", change.text(change.uri));
    const std::string plain = request_line({}, string_value(change.text(change.method)), params + "}");
    ends_.to_client(*read_message(plain), {});
  }
  return !told.empty();
}

void Listens::subscribed_elsewhere(const Message& request) {
  const std::string uri = string_value(request.text(request.uri));
  if (request.known == Method::resources_subscribe) {
    elsewhere_.insert(uri);
  } else {
    elsewhere_.erase(uri);
    if (is_wanted(uri)) send("resources/subscribe", uri);  // the server has just been told to end it for all
  }
}

bool Listens::is_subscribed_elsewhere(const Message& update) const {
  const std::string uri = string_value(update.text(update.uri));
  return std::ranges::any_of(elsewhere_, [&](const std::string& own) { return is_within(uri, own); });
}

bool Listens::is_wanted(const std::string& uri) const {
  return elsewhere_.contains(uri) ||
         std::ranges::any_of(open_, [&](const auto& open) { return open.second.uris.contains(uri); });
}

void Listens::send(std::string_view method, std::string_view uri) {
  ends_.to_server(request_line(fmt::format(R"("mcpivot-subscription-{}")", ++sent_), method,
                               fmt::format(R"({{"uri":{}}})", quote(uri))));
}

}  // namespace mcpivot
