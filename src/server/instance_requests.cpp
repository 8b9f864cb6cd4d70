// What becomes of a client's request: it goes to a generation, waits for one or for its turn, or is refused.
// And the settings that clients make: log levels, subscriptions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mcp/era.h"
#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds level_patience{5'000};

// How many of a shared server's concurrent calls one client may have.
std::size_t share_of(const Generation& generation) {
  return std::max<std::size_t>(1, generation.backend().calls_at_once() / 2);
}

// What a model can do about a call that took too long.
std::string after_overdue(const Generation& generation, const ControlNames& control) {
  if (generation.backend().traits().comes_and_goes) return " Check whether it did before you repeat it.";
  const auto& [rebuild, restart, status, logs] = control;
  return (logs.empty() ? "" : fmt::format(" {} shows its stderr.", logs)) +
         (restart.empty() ? "" : fmt::format(" {} restarts the server.", restart));
}

}  // namespace

void Instance::request(ToServer& asked) {
  request(asked, Hold::if_newer);
}

void Instance::request(ToServer& asked, Hold hold_it) {
  const Asker asker = asked.asker;
  const Message& message = asked.message;
  if (!may_pass(asker, message.known, asked.name)) return refuse_unallowed(asker, message, asked.name);
  if (follows_sign_in(message)) return request_after_sign_in(asked);
  if (message.known == Method::resources_unsubscribe && is_shared()) return unsubscribe(asker, message);
  if (!leaving_.empty() && (message.known == Method::other || message.request_state))
    if (Generation* keeper = keeper_of(message)) return keeper->request(asked);
  if (const std::string* const lost = lost_calls_.find(message)) return refuse_lost(asker, message, *lost);
  if (Generation* generation = serving()) {
    if (asker.era != generation->era() && needs_task(message, asked.name))
      return refuse_lost(
          asker, message,
          fmt::format("[mcpivot] the tool {} of server \"{}\" runs only as a task, and tasks of "
                      "{} can't be used by a client of the {} era.",
                      asked.name, config_->name,
                      generation->era() == Era::modern ? "2026-07-28" : "2025-11-25", text(asker.era)));
    if (hold_it == Hold::if_newer && must_hold(*generation, message)) return hold(asked);
    if (following_ != Following::not_needed && must_follow(*generation, message)) {
      wait(asked);
      if (following_ == Following::soon) follow();
      return;
    }
    put(*generation, asked);
    return watch_overdue_calls();
  }
  if (ends()) return refuse(asker, message, std::string(trouble()));
  happens(Life::Needed{});
  const auto* const failed = life_.get<Life::Failed>();
  if (failed != nullptr && !failed->ran) return refuse(asker, message, std::string(trouble()));
  wait(asked);
  live();  // a server whose handshake comes later takes it at once
}

void Instance::refuse_lost(Asker asker, const Message& message, const std::string& words) const {
  clients_.refuse(asker, failure_answer(message.known, message.text(message.id), words));
}

bool Instance::needs_task(const Message& message, std::string_view name) const {
  if (message.known != Method::tools_call) return false;
  const Item* const tool = catalog().find(ListKind::tools, string_value(name));
  return tool != nullptr &&
         find_member(find_member(tool->json, "execution"), "taskSupport") == R"("required")";
}

// Whether the user allows this. Checked whenever something is about to be sent: the rules may have changed
// while it waited.
bool Instance::may_pass(Asker asker, Method method, std::string_view name) const {
  return watcher_.allows(*this, asker, method, name);
}

void Instance::refuse_unallowed(Asker asker, const Message& message, std::string_view spelled) const {
  if (message.known != Method::tools_call)
    return clients_.refuse(
        asker, error_answer(message.text(message.id), code::invalid_params,
                            fmt::format("the request was not sent: the configuration no longer lets this "
                                        "client use the server \"{}\"",
                                        config_->name)));
  std::string name = string_value(spelled);
  if (!name.empty()) name = watcher_.shown_name(*this, asker.client, ListKind::tools, name);
  if (asker.through)
    return clients_.refuse(
        asker, tool_answer(message.text(message.id),
                           fmt::format("[mcpivot] {} was not called: the configuration no longer lets "
                                       "pivot_call reach it.",
                                       name),
                           true));
  clients_.refuse(asker, error_answer(message.text(message.id), code::invalid_params,
                                      name.empty() ? "tools/call needs \"name\", a string: the name of a tool"
                                                   : fmt::format("Unknown tool: {}", name)));
}

// An old generation that has the task that a request names, or the call that it continues.
Generation* Instance::keeper_of(const Message& message) const {
  if (message.request_state) {
    const auto parks = std::ranges::find_if(leaving_, [&](const auto& generation) {
      return !generation->ending() && generation->has_parked(message);
    });
    return parks == leaving_.end() ? nullptr : parks->get();
  }
  if (!string_value(message.text(message.method)).starts_with("tasks/")) return nullptr;
  const std::string_view task = find_member(message.text(message.params), "taskId");
  // Servers that count their tasks give the same id again.
  if (current_ && current_->owner_of_task(task) != ClientId::nobody) return nullptr;
  const auto keeper = std::ranges::find_if(leaving_, [&](const auto& generation) {
    return !generation->ending() && generation->owner_of_task(task) != ClientId::nobody;
  });
  return keeper == leaving_.end() ? nullptr : keeper->get();
}

bool Instance::remember_setting(ClientId client, const Message& message) {
  return message.known == Method::complete ||
         replay_.learn_setting(client, message.known, message.text(message.params));
}

// The server has taken one more than we can keep, and is told to forget it.
void Instance::refuse_subscription(const Generation::Requests::Request& request) {
  const Message message = request.kept.message();
  clients_.refuse(request.origin, too_many_subscriptions(request.id()));
  unsubscribe_if_unwanted(std::string(message.text(message.params)));
}

// A shared server uses the legacy era with us, whatever its clients use.
void Instance::listen(ClientId client, Uris uris) {
  if (is_shared()) return subscribe_to(client, uris);
  listened_ = std::move(uris);
  if (current_) current_->listen(listened_);
}

void Instance::subscribe_to(ClientId client, const Uris& uris) {
  for (const std::string& params : replay_.subscriptions_of(client)) {
    if (uris.contains(string_value(find_member(params, "uri")))) continue;
    replay_.learn_setting(client, Method::resources_unsubscribe, params);
    unsubscribe_if_unwanted(params);
  }
  const bool can = current_ && !current_->ending() && takes_subscriptions(initialize_result());
  for (const std::string& uri : uris) {
    const std::string params = fmt::format(R"({{"uri":{}}})", quote(uri));
    const bool is_new = !replay_.is_subscribed(uri);
    if (replay_.learn_setting(client, Method::resources_subscribe, params) && can && is_new)
      current_->tell("resources/subscribe", params);
  }
}

// A shared server doesn't know its clients, so it gets no notifications from them.
void Instance::notify(const Message& message) {
  if (Generation* generation = is_shared() ? nullptr : serving()) {
    if (!generation->overflows()) return generation->notify(message);
    return drop_notification(message, "a notification for a server that isn't reading its messages");
  }
  if (life_.is<Life::Starting>() && !is_shared() && waiting_.add({}, message, {})) return;
  drop_notification(message, is_shared() ? "a notification for a server that others use too"
                                         : "a notification for a server that is not running");
}

void Instance::drop_notification(const Message& message, std::string_view why) const {
  clients_.saw({.way = Seen::Way::to_server,
                .what = Seen::What::dropped,
                .client = client(),
                .server = config_->name,
                .raw = message.raw,
                .message = &message,
                .why = why});
}

void Instance::set_level(ClientId client, const Message& message) {
  remember_setting(client, message);
  tell_level();
}

// In the modern era there is no such request: each call says which level it wants. A server that is still
// being told one is told the latest when it has answered, or doesn't for too long.
void Instance::tell_level() {
  const std::string level = replay_.level();
  if (!current_ || current_->dialect() == Era::modern || current_->ending() || level.empty()) return;
  if (!has_capability(initialize_result(), "logging") || told_level_.to == current_->id()) return;
  const GenerationId to = current_->id();
  told_level_ = {.to = to, .level = level};
  level_timer_.set(level_patience, [this] { on_level_told(); });
  const std::int64_t inquiry = current_->inquire("logging/setLevel", level, [this, to](const Message&) {
    if (told_level_.to == to) on_level_told();
  });
  if (told_level_.to == to) told_level_.inquiry = inquiry;
}

void Instance::on_level_told() {
  level_timer_.cancel();
  const ToldLevel told = std::exchange(told_level_, {});
  if (current_ && current_->id() == told.to) current_->drop_inquiry(told.inquiry);
  if (told.level != replay_.level()) tell_level();
}

// Another client may still want what this one no longer wants.
void Instance::unsubscribe(Asker asker, const Message& message) {
  remember_setting(asker.client, message);
  clients_.answer(asker, result_answer(message.text(message.id), "{}"));
  unsubscribe_if_unwanted(std::string(message.text(message.params)));
}

// A subscription that is still being made may be to this resource, and a superfluous update is better than a
// missing one.
void Instance::unsubscribe_if_unwanted(const std::string& params) {
  if (!current_ || current_->ending() || !takes_subscriptions(initialize_result())) return;
  if (replay_.is_subscribed(string_value(find_member(params, "uri")))) return;
  if (!current_->is_asked(Method::resources_subscribe)) current_->tell("resources/unsubscribe", params);
}

void Instance::wait(const ToServer& asked) {
  if (!waiting_.add(asked.asker, asked.message, asked.sent_before, asked.edits.list()))
    refuse_crowded(asked.asker, asked.message);
}

void Instance::refuse_crowded(Asker asker, const Message& message) {
  refuse(asker, message,
         fmt::format("{} requests wait for it already, or long ones; {}", WaitingRoom::most_waiting,
                     why_not_ready()));
}

// One client's calls must not keep the others waiting, so each has its share of the server's concurrent
// calls, and waits only for its own.
void Instance::put(Generation& generation, ToServer& asked, bool waited) {
  const ClientId client = asked.asker.client;
  const bool may_go = !is_shared() || generation.open() < share_of(generation) ||
                      ((waited || !turns_.has(client)) && generation.calls_of(client) < share_of(generation));
  if (may_go) return generation.request(asked);
  if (!turns_.add(asked.asker, asked.message, asked.sent_before, asked.edits.list()))
    refuse_turn(asked.asker, asked.message, "found the queue full");
}

void Instance::refuse_turn(Asker asker, const Message& message, const std::string& what) const {
  const std::string words = fmt::format(
      "[mcpivot] server \"{}\" is shared, and this client already has as many requests in flight there as "
      "one client may have; this one {} and was not sent. Try again when some have finished.",
      config_->name, what);
  clients_.refuse(asker, failure_answer(message.known, message.text(message.id), words));
}

void Instance::take_turns() {
  std::map<ClientId, bool> have_room;  // looked up once per client
  while (const Generation* const generation = serving()) {
    const auto next = turns_.take_first([&](ClientId client) {
      const auto [known, is_new] = have_room.emplace(client, false);
      if (is_new) known->second = generation->calls_of(client) < share_of(*generation);
      return known->second;
    });
    if (!next) return;
    have_room.erase(next->asker.client);
    put_waiting(*next, true);
  }
}

// It can't run twice, and will be started for the requests that wait as soon as there is room.
bool Instance::waits_for_predecessor() const {
  const Life::Facts now = facts();
  return !now.overlaps && now.others && !life_.has_current() && life_.coming() == Life::Next::nothing &&
         !ends();
}

// An instance that is being updated is ready, and still lets requests wait.
std::string Instance::why_not_ready() const {
  if (waits_for_predecessor()) return "an earlier generation has yet to end";
  return life_.is<Life::Ready>() ? std::string(Life::words_of_room) : std::string(trouble());
}

void Instance::release_waiting() {
  if (serving() == nullptr) return;
  for (const auto& waiting : turns_.take_all()) put_waiting(waiting);  // these came first
  for (const auto& waiting : waiting_.take_all(false)) put_waiting(waiting);
  watch_overdue_calls();
}

std::vector<WaitingRoom::Waiting> Instance::take_waiting() {
  std::vector<WaitingRoom::Waiting> all;
  for (WaitingRoom* const room : {&turns_, &signing_in_, &waiting_}) {
    if (room == &signing_in_ && life_.is_refused()) continue;  // that is what these wait for
    for (auto& waiting : room->take_all()) all.push_back(std::move(waiting));
  }
  return all;
}

void Instance::put_waiting(const WaitingRoom::Waiting& waiting, bool waited) {
  const Message message = waiting.message.message();
  if (!waiting.is_request()) {
    serving()->notify(message);
  } else if (const std::string* const lost = lost_calls_.find(message)) {
    refuse_lost(waiting.asker, message, *lost);
  } else if (!may_pass(waiting.asker, message)) {
    refuse_unallowed(waiting.asker, message, message.text(message.name));
  } else if (Generation* const keeper = message.request_state ? keeper_of(message) : nullptr) {
    keeper->request(waiting.asker, message, waiting.sent_before);
  } else {
    put(*serving(), waiting.asker, message, waiting.sent_before, waited);
  }
}

std::string_view Instance::absence() const {
  const bool is_up = traits().comes_and_goes && state() == State::failed && !status().away;
  return life_.is_refused() || is_up ? "can't be used" : traits().absent;
}

void Instance::refuse(Asker asker, const Message& message, const std::string& why) {
  const std::string_view what = life_.is<Life::Ready>()   ? "is being replaced"
                                : waits_for_predecessor() ? traits().absent
                                                          : absence();
  std::string words = fmt::format("[mcpivot] server \"{}\" {}: {}", config_->name, what, why);
  // If it was stopped, its stderr doesn't matter; and the report of a failed start already has it.
  const bool tells = state() != State::stopped && why.find('\n') == std::string::npos;
  const std::string lines = tells ? telling_lines(stderr_for_clients(past_.starts)) : std::string();
  const auto new_line = [&] {
    if (!words.ends_with('\n')) words += words.ends_with('.') ? "\n" : ".\n";
  };
  if (!lines.empty() && full_refusals_.take(clock_.now())) {
    new_line();
    words += lines;
  }
  if (!ends() && traits().comes_and_goes && state() == State::failed && !life_.is_refused()) {
    const auto* const failed = life_.get<Life::Failed>();
    const std::string next = next_at_daemon(failed == nullptr || failed->ran);
    if (!next.empty()) new_line();
    words += next;
  } else if (!ends() && !traits().comes_and_goes && state() != State::stopped) {
    new_line();
    words += failed_lately() || config_->control.status.empty()
                 ? next_line(next_step(past_.starts))
                 : fmt::format("Next: try again later; {} shows its state.", config_->control.status);
  }
  clients_.refuse(asker, failure_answer(message.known, message.text(message.id), words));
}

// Nothing, if there was no attempt: the trouble is in what we were given, and says what to do.
std::string Instance::next_at_daemon(bool attempted) const {
  if (!attempted) return {};
  const bool has_to_start_it = config_->http.start.empty() && status().away;
  return fmt::format("Next: {}; mcpivot reconnects by itself.",
                     has_to_start_it ? "start it, then call again" : "try again later");
}

void Instance::watch_overdue_calls() {
  const Generation* const watched = serving();
  if (overdue_timer_.is_set() || watched == nullptr || watched->backend().calls_have_own_limits()) return;
  const milliseconds pace =
      std::clamp(watched->config().call_timeout / 20, milliseconds(50), milliseconds(5'000));
  overdue_timer_.set(pace, [this] {
    Generation* const generation = serving();
    if (generation == nullptr) return;
    const auto keep = generation->shared_from_this();  // a client that is answered may ask for anything
    const ServerConfig& config = generation->config();
    generation->expire();
    for (const auto& request : generation->take_overdue(config.call_timeout)) {
      const std::string words = fmt::format(
          "[mcpivot] \"{}\" timed out after {} (--call-timeout) while {}. mcpivot cancelled the call, which "
          "may have taken effect.{}",
          config.name, duration_text(config.call_timeout), describe(request),
          after_overdue(*generation, config_->control));
      count_failure(request);
      clients_.refuse(request.origin, failure_answer(request.known, request.id(), words));
    }
    take_turns();
    if (generation->open() > 0 || generation->parks()) watch_overdue_calls();
  });
}

}  // namespace mcpivot
