#include "bridge/modern_facade.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bridge/round_params.h"
#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

// The ids of all requests that are made here.
constexpr std::string_view own_ids = R"("mcpivot-)";

// What the modern era doesn't have, or has in another form; also tasks, which stay within their era.
bool is_gone(const Message& request) {
  switch (request.known) {
    case Method::initialize:
    case Method::ping:
    case Method::set_level:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
      return true;
    case Method::other:
      return string_value(request.text(request.method)).starts_with("tasks/");
    default:
      return false;
  }
}

}  // namespace

ModernFacade::ModernFacade(Ends& ends, const Clock& clock, std::string initialize_result,
                           std::chrono::milliseconds patience)
    : ends_(ends), logs_(ends), calls_(ends, clock, logs_, patience), listens_(ends) {
  if (!initialize_result.empty()) learn(initialize_result);
}

void ModernFacade::from_client(const Message& message, std::span<const Edit> edits, std::uint64_t client) {
  if (message.kind == Kind::request) {
    if (message.version) return modern_request(message, edits, client);
    return legacy_request(message, edits);
  }
  if (message.known == Method::cancelled && message.kind == Kind::notification) return cancel(message, edits);
  ends_.to_server(message, edits);
}

void ModernFacade::modern_request(const Message& message, std::span<const Edit> edits, std::uint64_t client) {
  const std::string_view spelled = edited(message.raw, message.id, edits);
  const std::int64_t id = own_id(spelled);
  if (id <= 0) return refuse(spelled, code::invalid_request, "the id must be a positive number");
  if (is_gone(message)) {
    calls_.note_ended(id);
    return refuse(spelled, code::method_not_found,
                  fmt::format("{} does not exist in protocol version 2026-07-28",
                              string_value(message.text(message.method))));
  }
  if (initialize_result_.empty()) return initialize(message, edits, id, client);
  switch (message.known) {
    case Method::discover:
      calls_.note_ended(id);
      return answer(spelled, discover_result_of(initialize_result_));
    case Method::listen:
      calls_.note_ended(id);
      return listens_.open(id, message, find_member(initialize_result_, "capabilities"));
    default:
      return calls_.request(id, message, edits, client);
  }
}

void ModernFacade::legacy_request(const Message& message, std::span<const Edit> edits) {
  const std::int64_t id = own_id(edited(message.raw, message.id, edits));
  if (may_require_input(message.known) && id > 0) neighbours_.insert(id);
  if (message.known == Method::initialize) handshake_ = id;
  if (message.known == Method::set_level)
    logs_.set_elsewhere(find_member(message.text(message.params), "level"));
  ends_.to_server(message, edits);
  if (message.known == Method::resources_subscribe || message.known == Method::resources_unsubscribe)
    listens_.subscribed_elsewhere(message);
}

void ModernFacade::cancel(const Message& message, std::span<const Edit> edits) {
  const std::int64_t id = own_id(edited(message.raw, message.request_id, edits));
  if (stop_waiting(id)) return;
  if (listens_.close(id) || calls_.cancel(id, message, edits)) return;
  neighbours_.erase(id);
  ends_.to_server(message, edits);
}

// The very first request initializes the server for the ones after it, which wait for its answer.
void ModernFacade::initialize(const Message& message, std::span<const Edit> edits, std::int64_t id,
                              std::uint64_t client) {
  waiting_.push_back({id, client, KeptMessage(message, edits)});
  if (!initialize_id_.empty()) return;
  initialize_id_ = fmt::format(R"({}initialize-{}")", own_ids, ++initialize_count_);
  ends_.to_server(request_line(initialize_id_, "initialize", hello_of(message.text(message.meta))));
}

void ModernFacade::initialized(const Message& answer) {
  initialize_id_.clear();
  if (answer.kind == Kind::error) {
    const std::string_view error = answer.text(answer.error);
    return fail_waiting(fmt::format("the server rejected `initialize`: {} (code {})",
                                    string_value(find_member(error, "message")), find_member(error, "code")));
  }
  if (!learn(answer.text(answer.result)))
    return fail_waiting("the server's answer to `initialize` names no protocolVersion");
  ends_.to_server(request_line({}, "notifications/initialized", {}));
  while (!waiting_.empty()) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    from_client(next.request.message(), {}, next.client);
  }
}

bool ModernFacade::learn(std::string_view initialize_result) {
  if (!find_member(initialize_result, "protocolVersion").starts_with('"')) return false;
  initialize_result_ = initialize_result;
  if (find_member(find_member(initialize_result_, "capabilities"), "logging").starts_with('{')) logs_.allow();
  return true;
}

// Fails the requests that wait now. A request that comes in the meantime starts another attempt.
void ModernFacade::fail_waiting(std::string_view why) {
  std::vector<std::int64_t> ids;
  for (const Waiting& next : waiting_) ids.push_back(next.id);
  for (const std::int64_t id : ids)
    if (stop_waiting(id)) refuse(IdText(id).view(), code::internal_error, why);
}

bool ModernFacade::stop_waiting(std::int64_t id) {
  if (std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.id == id; }) == 0) return false;
  calls_.note_ended(id);
  return true;
}

void ModernFacade::from_server(const Message& message) {
  if (message.is_answer()) {
    server_answered(message);
  } else if (message.kind == Kind::request) {
    server_asked(message);
  } else {
    server_notified(message);
  }
}

void ModernFacade::server_answered(const Message& message) {
  const std::string_view id = message.text(message.id);
  if (!initialize_id_.empty() && same_id(id, initialize_id_)) return initialized(message);
  if (id.starts_with(own_ids)) return;  // no caller wants the answer
  const std::int64_t own = own_id(id);
  // The server has never seen some of these ids, whatever it says.
  if (listens_.is_open(own) || std::ranges::find(waiting_, own, &Waiting::id) != waiting_.end() ||
      calls_.answer(message))
    return;
  neighbours_.erase(own);
  if (own != 0 && own == handshake_) {
    handshake_ = 0;
    if (initialize_result_.empty()) learn(message.text(message.result));
  }
  pass_up(message);
}

void ModernFacade::server_notified(const Message& message) {
  switch (message.known) {
    case Method::progress:
      if (!calls_.progress(message)) pass_up(message);
      return;
    case Method::log_message:
      return log(message);
    case Method::tools_changed:
    case Method::prompts_changed:
    case Method::resources_changed:
      if (!listens_.announce(message)) pass_up(message);
      return;
    case Method::resource_updated:
      // A change without a listener may be for a legacy client that subscribed before there was a bridge.
      if (!listens_.announce(message) || listens_.is_subscribed_elsewhere(message)) pass_up(message);
      return;
    case Method::cancelled:
      // Its session knows whether a client was asked that, even before there was a bridge.
      if (message.request_id && !calls_.take_back(message.text(message.request_id))) pass_up(message);
      return;
    default:
      if (string_value(message.text(message.method)) != "notifications/elicitation/complete")
        pass_up(message);
  }
}

void ModernFacade::server_asked(const Message& message) {
  if (message.known == Method::ping) return ends_.to_server(result_answer(message.text(message.id), "{}"));
  if (shared_)
    return ends_.to_server(error_answer(message.text(message.id), code::method_not_found,
                                        "several clients share this server, and none of them can be asked"));
  auto question = question_in(message);
  if (!question) {
    return ends_.to_server(error_answer(
        message.text(message.id), code::method_not_found,
        fmt::format("clients have no method \"{}\"", string_value(message.text(message.method)))));
  }
  if (!calls_.can_carry() && !neighbours_.empty()) return pass_up(message);
  calls_.ask(std::move(*question));
}

void ModernFacade::log(const Message& message) {
  const auto wanted = calls_.wanted_log_level();
  const auto level = log_level(find_member(message.text(message.params), "level"));
  if (wanted && level && *level >= *wanted) return pass_up(message);
  ends_.keep_log(log_line_of(message));
}

std::string_view ModernFacade::version() const {
  return find_member(initialize_result_, "protocolVersion");
}

std::string ModernFacade::lost(std::string_view id) {
  if (!initialize_id_.empty() && same_id(id, initialize_id_)) {
    initialize_id_.clear();
    if (waiting_.empty()) return {};
    const std::int64_t first = waiting_.front().id;
    stop_waiting(first);
    fail_waiting("the server was lost before it answered `initialize`");
    return std::string(IdText(first).view());
  }
  if (id.starts_with(own_ids)) return {};
  const std::int64_t own = own_id(id);
  if (const auto known = calls_.lost(own)) return *known == 0 ? "" : std::string(IdText(*known).view());
  neighbours_.erase(own);
  return std::string(id);
}

void ModernFacade::answer(std::string_view id, std::string_view result) {
  const std::string line = result_answer(id, result);
  if (const auto message = read_message(line)) return pass_up(*message);
  refuse(id, code::internal_error, "the server's answer to `initialize` is nested too deeply");
}

void ModernFacade::refuse(std::string_view id, int code, std::string_view why) {
  const std::string line = error_answer(id, code, why);
  pass_up(*read_message(line));
}

}  // namespace mcpivot
