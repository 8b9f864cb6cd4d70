// A legacy client's subscriptions to resources, as parts of the one listen that is kept open.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridge/legacy_facade.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {

void LegacyFacade::subscribe(std::string_view id, const Message& message) {
  if (!message.text(message.uri).starts_with('"'))
    return say(error_answer(id, code::invalid_params, "resources/subscribe needs a uri"));
  if (!listen_.supported())
    return say(error_answer(id, code::method_not_found,
                            "the server has no subscriptions/listen, so clients can't subscribe"));
  const std::string uri = string_value(message.text(message.uri));
  ListenFilter wanted = listen_.wanted();
  if (wanted.uris.contains(uri) && listen_.honours(uri)) return say(result_answer(id, "{}"));
  if (wanted.uris.size() >= limits_.subscriptions)
    return say(error_answer(
        id, code::invalid_request,
        fmt::format("there are already {} subscriptions, which is the limit", limits_.subscriptions)));
  const bool later =
      std::ranges::any_of(waiters_, [&](const Waiter& waiter) { return waiter.later && waiter.uri == uri; });
  waiters_.push_back({.own = own_id(id), .uri = uri, .subscribes = true, .later = later});
  if (later) return;
  wanted.uris.insert(uri);
  listen_.want(std::move(wanted), listen_meta());
  listen_.hurry();
}

void LegacyFacade::unsubscribe(std::string_view id, const Message& message) {
  if (!message.text(message.uri).starts_with('"'))
    return say(error_answer(id, code::invalid_params, "resources/unsubscribe needs a uri"));
  ListenFilter wanted = listen_.wanted();
  const std::string uri = string_value(message.text(message.uri));
  for (Waiter& waiter : waiters_)
    if (waiter.uri == uri) waiter.later = false;  // the next listen answers it, whatever it is for
  if (wanted.uris.erase(uri) == 0) return say(result_answer(id, "{}"));
  listen_.want(std::move(wanted), listen_meta());
  if (listen_.settled()) return say(result_answer(id, "{}"));
  waiters_.push_back({.own = own_id(id), .uri = uri, .subscribes = false});
}

bool LegacyFacade::waits(std::int64_t own) const {
  return std::ranges::find(waiters_, own, &Waiter::own) != waiters_.end();
}

// The client cancels a waiting request.
void LegacyFacade::subscribe_no_more(std::int64_t own) {
  const auto waiter = std::ranges::find(waiters_, own, &Waiter::own);
  const Waiter gone = std::move(*waiter);
  waiters_.erase(waiter);
  const auto wants_it = [&](const Waiter& one) { return one.subscribes && one.uri == gone.uri; };
  if (!gone.subscribes || listen_.honours(gone.uri) || std::ranges::any_of(waiters_, wants_it)) return;
  ListenFilter wanted = listen_.wanted();
  wanted.uris.erase(gone.uri);
  listen_.want(std::move(wanted), listen_meta());
}

// A waiting request is answered by the first listen that was opened with what it wanted. If its client has
// changed its mind in the meantime, it needn't wait.
void LegacyFacade::on_listening(const ListenFilter& asked, const ListenFilter& honoured, bool gap) {
  std::vector<std::string> lines;
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (waiter.later) return false;
    const bool in_effect = asked.uris.contains(waiter.uri) == waiter.subscribes;
    const bool changed_mind = listen_.wanted().uris.contains(waiter.uri) != waiter.subscribes;
    if (!in_effect && !changed_mind && !listen_.settled()) return false;
    if (in_effect && waiter.subscribes && !honoured.uris.contains(waiter.uri)) {
      listen_.give_up(waiter.uri);
      lines.push_back(error_answer(IdText(waiter.own).view(), code::invalid_params,
                                   "the server doesn't accept a subscription to " + waiter.uri));
    } else {
      lines.push_back(result_answer(IdText(waiter.own).view(), "{}"));
    }
    return true;
  });
  try_next();
  if (gap) {
    if (honoured.tools) lines.push_back(request_line({}, "notifications/tools/list_changed", {}));
    if (honoured.prompts) lines.push_back(request_line({}, "notifications/prompts/list_changed", {}));
    if (honoured.resources) lines.push_back(request_line({}, "notifications/resources/list_changed", {}));
    for (const std::string& uri : honoured.uris)
      if (listen_.wanted().uris.contains(uri))
        lines.push_back(
            request_line({}, "notifications/resources/updated", fmt::format(R"({{"uri":{}}})", quote(uri))));
  }
  for (const std::string& line : lines) say(line);
}

// Of several resources, it isn't known which one the server refuses: they are tried one by one.
void LegacyFacade::on_refused(const ListenFilter& asked, bool refused, int code, std::string_view why) {
  Uris blamed;
  for (const Waiter& waiter : waiters_)
    if (waiter.subscribes && asked.uris.contains(waiter.uri) && listen_.wanted().uris.contains(waiter.uri))
      blamed.insert(waiter.uri);
  if (refused && listen_.supported() && blamed.size() > 1) {
    blamed.erase(blamed.begin());
    for (const std::string& uri : blamed) listen_.give_up(uri);
    for (Waiter& waiter : waiters_)
      waiter.later = waiter.later || (waiter.subscribes && blamed.contains(waiter.uri));
    return listen_.hurry();
  }
  std::vector<std::string> lines;
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    const bool wanted = waiter.later || listen_.wanted().uris.contains(waiter.uri);
    if (waiter.subscribes && wanted && !asked.uris.contains(waiter.uri) && listen_.supported()) return false;
    if (waiter.subscribes && wanted) {
      listen_.give_up(waiter.uri);
      lines.push_back(
          error_answer(IdText(waiter.own).view(), code,
                       fmt::format("the server doesn't accept a subscription to {}: {}", waiter.uri, why)));
    } else {
      lines.push_back(result_answer(IdText(waiter.own).view(), "{}"));
    }
    return true;
  });
  try_next();
  for (const std::string& line : lines) say(line);
}

// Of those that are tried one by one.
void LegacyFacade::try_next() {
  const auto next = std::ranges::find_if(waiters_, &Waiter::later);
  if (next == waiters_.end()) return;
  ListenFilter wanted = listen_.wanted();
  for (Waiter& waiter : waiters_)
    if (waiter.uri == next->uri) waiter.later = false;
  wanted.uris.insert(next->uri);
  listen_.want(std::move(wanted), listen_meta());
  listen_.hurry();
}

}  // namespace mcpivot
