#include "bridge/listens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mcp/resource_uri.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {

void Listens::open(std::int64_t id, const Message& listen, std::string_view capabilities) {
  const std::string_view filter = find_member(listen.text(listen.params), "notifications");
  if (!filter.starts_with('{') || open_.contains(id)) {
    const std::string error =
        error_answer(IdText(id).view(), code::invalid_params,
                     "params.notifications must be an object that says what to listen for");
    return ends_.to_client(*read_message(error), {});
  }
  ListenFilter wanted = listen_filter_of(filter);
  const ListenFilter announced = announced_lists(capabilities);
  wanted.tools = wanted.tools && announced.tools;
  wanted.prompts = wanted.prompts && announced.prompts;
  wanted.resources = wanted.resources && announced.resources;
  if (find_member(find_member(capabilities, "resources"), "subscribe") != "true") wanted.uris.clear();
  std::vector<std::string> fresh;
  for (const std::string& uri : wanted.uris)
    if (!is_wanted(uri)) fresh.push_back(uri);
  const std::string acknowledged = listen_acknowledged(IdText(id).view(), wanted);
  open_.emplace(id, std::move(wanted));
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
    const std::string line = with_subscription(change, IdText(id).view());
    ends_.to_client(*read_message(line), {});
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
