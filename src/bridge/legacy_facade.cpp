#include "bridge/legacy_facade.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/contains.h"
#include "bridge/facade_ids.h"
#include "bridge/members.h"
#include "mcp/era.h"
#include "mcp/initialize.h"
#include "mcp/log_levels.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_spare_calls = 32;

// Whether one of the edits replaces more than a value within this range.
bool covers(std::span<const Edit> edits, Span where) {
  return where && std::ranges::any_of(edits, [&](const Edit& edit) {
           return edit.where.begin <= where.begin && edit.where.end() >= where.end();
         });
}

}  // namespace

LegacyFacade::LegacyFacade(Ends& ends, std::string hello, Limits limits)
    : ends_(ends), limits_(limits), hello_(std::move(hello)) {
  stamp_.set(hello_, level_);
}

void LegacyFacade::listen(std::string_view discover_result) {
  listen_.want_lists(discover_result, listen_meta());
}

std::string LegacyFacade::listen_meta() const {
  return meta_members(hello_);
}

void LegacyFacade::from_client(const Message& message, std::span<const Edit> edits, std::uint64_t client) {
  if (message.is_answer()) {
    on_client_answer(message, edits, client);
  } else if (message.version) {
    ends_.to_server(message, edits);
  } else if (message.kind == Kind::request) {
    on_request(message, edits, client);
  } else {
    on_notification(message, edits);
  }
}

void LegacyFacade::on_request(const Message& message, std::span<const Edit> edits, std::uint64_t client) {
  listen_.use();
  const std::string_view id = edited(message.raw, message.id, edits);
  if (own_id(id) <= 0) return ends_.to_server(message, edits);  // not the generation's
  switch (message.known) {
    case Method::initialize:
      return initialize(id, message);
    case Method::ping:
      return say(result_answer(id, "{}"));
    case Method::set_level:
      return set_level(id, message);
    case Method::resources_subscribe:
      return subscribe(id, message);
    case Method::resources_unsubscribe:
      return unsubscribe(id, message);
    default:
      return pass_request(id, message, edits, client);
  }
}

void LegacyFacade::initialize(std::string_view id, const Message& message) {
  const std::int64_t own = own_id(id);
  RequestStamp stamp;
  stamp.set(message.text(message.params), level_);
  const std::string line = request_line(discover_id(own), "server/discover",
                                        fmt::format(R"({{"_meta":{{{}}}}})", stamp.members()));
  // Each request will contain it, one level deeper than here.
  if (const auto readable = read_message(line); !readable)
    return say(
        error_answer(id, code::invalid_params, "the client's capabilities: " + readable.error().reason));
  hello_ = message.text(message.params);
  stamp_ = std::move(stamp);
  open(own, Method::initialize);
  ends_.to_server(line);
}

void LegacyFacade::set_level(std::string_view id, const Message& message) {
  const std::string level = string_value(find_member(message.text(message.params), "level"));
  if (!contains(log_levels, level))
    return say(error_answer(id, code::invalid_params,
                            fmt::format("the level must be one of {}", fmt::join(log_levels, ", "))));
  level_ = quote(level);
  stamp_.set(hello_, level_);
  sharers_.clear();  // their stamps have the old one
  say(result_answer(id, "{}"));
}

const LegacyFacade::Sharer* LegacyFacade::sharer(std::uint64_t client) {
  const std::string_view hello = ends_.hello_of(client);
  if (hello.empty()) return nullptr;
  Sharer& sharer = sharers_[client];
  if (sharer.hello == hello) return &sharer;
  sharer.hello = hello;
  sharer.stamp.set(hello, level_);
  sharer.capabilities = find_member(hello, "capabilities");
  const std::string line =
      request_line("1", "ping", fmt::format(R"({{"_meta":{{{}}}}})", sharer.stamp.members()));
  if (read_message(line)) return &sharer;
  sharer.stamp.set(hello_, level_);  // it is nested too deeply for a request: the server isn't told
  sharer.capabilities = "{}";
  return &sharer;
}

void LegacyFacade::pass_request(std::string_view id, const Message& message, std::span<const Edit> edits,
                                std::uint64_t client) {
  if (covers(edits, message.params) || covers(edits, message.meta)) {
    const std::string line = spliced(message.raw, edits);
    const auto changed = read_message(line);
    if (!changed) return say(error_answer(id, code::invalid_params, changed.error().reason));
    return pass_request(changed->text(changed->id), *changed, {}, client);
  }
  const std::int64_t own = own_id(id);
  if (message.text(message.params).starts_with('['))
    return say(error_answer(id, code::invalid_params, "params must be an object"));
  Edits all;
  all.add_all(edits);
  // The modern era has no such tasks: the call runs synchronously, as with any server without tasks.
  if (message.task)
    remove_members(message.raw, message.params, all,
                   [](std::string_view key, std::string_view) { return key == "task"; });
  const Sharer* const one = sharer(client);
  (one != nullptr ? one->stamp : stamp_).put(message, all);
  Call& call = open(own, message.known);
  call.client = client;
  if (may_require_input(message.known)) call.kept.keep(message, all.list());
  ends_.to_server(message, all.list());
}

void LegacyFacade::on_notification(const Message& message, std::span<const Edit> edits) {
  if (message.known == Method::initialized) {
    if (!discovered_.empty()) listen(discovered_);
  } else if (message.known == Method::cancelled) {
    on_cancelled(message, edits);
  } else if (message.known != Method::progress &&
             string_value(message.text(message.method)) != "notifications/roots/list_changed") {
    ends_.to_server(message, edits);
  }
}

void LegacyFacade::on_cancelled(const Message& message, std::span<const Edit> edits) {
  const std::string_view id = edited(message.raw, message.request_id, edits);
  const std::int64_t own = own_id(id);
  if (waits(own)) return subscribe_no_more(own);
  const auto at = calls_.find(own);
  if (at == calls_.end()) return ends_.to_server(message, edits);
  const int round = at->second.round;
  const std::uint64_t client = at->second.client;
  const auto input = std::move(at->second.input);
  const bool discovers = at->second.method == Method::initialize;
  close(at);
  if (input) return withdraw(own, client, round, *input);
  if (round == 0 && !discovers) return ends_.to_server(message, edits);
  const std::string current = discovers ? discover_id(own) : retry_id(own, round);
  Edits all;
  all.add_all(edits, message.request_id).replace(message.request_id, current);
  ends_.to_server(message, all.list());
}

void LegacyFacade::from_server(const Message& message) {
  if (message.is_answer()) {
    on_server_answer(message);
  } else if (message.kind == Kind::request) {
    ends_.to_server(
        error_answer(message.text(message.id), code::method_not_found,
                     "a server of 2026-07-28 can't send requests; it answers with input_required"));
  } else {
    on_server_notification(message);
  }
}

void LegacyFacade::on_server_answer(const Message& message) {
  const std::string_view id = message.text(message.id);
  if (const std::int64_t own = own_id(id); own != 0) {
    const auto at = calls_.find(own);
    if (at == calls_.end()) {
      if (!waits(own)) ends_.to_client(message, {});
      return;
    }
    const Call& call = at->second;
    if (call.round == 0 && !call.input && call.method != Method::initialize) on_answer(at, message);
    return;
  }
  if (listen_.from_server(message) != UpstreamListen::Verdict::foreign) return;
  const auto ours = read_facade_id(id);
  if (!ours) return ends_.to_client(message, {});
  const auto at = calls_.find(ours->own);
  if (at == calls_.end()) return;
  if (ours->what == FacadeId::What::discover && at->second.method == Method::initialize) {
    on_discovered(ours->own, message);
  } else if (ours->what == FacadeId::What::retry && at->second.round == ours->round && !at->second.input) {
    on_answer(at, message);
  }
}

void LegacyFacade::on_discovered(std::int64_t own, const Message& message) {
  close(calls_.find(own));
  const IdText id(own);
  if (message.kind == Kind::error) {
    const std::string_view words = find_member(message.text(message.error), "message");
    const std::string more = quote("the server rejected `server/discover`: " + string_value(words));
    Edits edits;
    edits.replace(message.id, id.view());
    if (words.starts_with('"')) edits.replace(span_of(message.raw, words), more);
    return ends_.to_client(message, edits.list());
  }
  const std::string_view result = message.text(message.result);
  if (!offers_modern(result)) {
    const std::string_view versions = find_member(result, "supportedVersions");
    return say(error_answer(
        id.view(), code::internal_error,
        versions.empty()
            ? "the server answered server/discover without supportedVersions"
            : fmt::format("the server doesn't offer 2026-07-28; its server/discover says {}", versions)));
  }
  discovered_ = result;
  say(result_answer(id.view(), initialize_result_of(result, agreed_version(hello_))));
}

void LegacyFacade::on_server_notification(const Message& message) {
  if (message.known == Method::progress) return on_progress(message);
  switch (listen_.from_server(message)) {
    case UpstreamListen::Verdict::done:
      return;
    case UpstreamListen::Verdict::pass: {
      Edits edits;
      remove_members(message.raw, message.meta, edits,
                     [](std::string_view key, std::string_view) { return key == meta_key::subscription; });
      return ends_.to_client(message, edits.list());
    }
    case UpstreamListen::Verdict::foreign:
      // Besides us, only the core listens.
      if ((message.subscription || message.known == Method::acknowledged) &&
          own_id(message.text(message.subscription)) <= static_cast<std::int64_t>(UpstreamListen::core_ids))
        return;
      break;
  }
  // A modern server may cancel only a subscription. The client would take it for the cancellation of a
  // question.
  if (message.known != Method::cancelled) ends_.to_client(message, {});
}

void LegacyFacade::on_progress(const Message& message) {
  const auto at = calls_.find(own_id(message.text(message.progress_token)));
  if (at == calls_.end()) return ends_.to_client(message, {});
  if (at->second.input) return;  // that round is over
  Edits edits;
  if (at->second.progress.lift(message, edits)) ends_.to_client(message, edits.list());
}

std::string LegacyFacade::lost(std::string_view id) {
  if (listen_.lost(id)) return {};
  const auto ours = read_facade_id(id);
  const std::int64_t own = ours ? ours->own : own_id(id);
  const auto at = calls_.find(own);
  if (at == calls_.end()) return ours || own == 0 || waits(own) ? std::string() : std::string(id);
  const Call& call = at->second;
  const bool discovers = call.method == Method::initialize;
  const bool current = !ours                                    ? call.round == 0 && !discovers
                       : ours->what == FacadeId::What::discover ? discovers
                       : ours->what == FacadeId::What::retry    ? call.round == ours->round && !discovers
                                                                : false;
  if (!current || call.input) return {};
  close(at);
  return std::string(IdText(own).view());
}

LegacyFacade::Call& LegacyFacade::open(std::int64_t own, Method method) {
  if (const auto old = calls_.find(own); old != calls_.end()) close(old);  // no generation does that
  if (!spare_.empty()) {
    spare_.back().key() = own;
    calls_.insert(std::move(spare_.back()));
    spare_.pop_back();
  }
  Call& call = calls_[own];
  call.method = method;
  return call;
}

void LegacyFacade::close(Calls::iterator at) {
  auto node = calls_.extract(at);
  if (spare_.size() == most_spare_calls) return;
  Call& call = node.mapped();
  call.kept.drop();
  call.input.reset();
  call.progress = {};
  call.round = 0;
  call.client = 0;
  spare_.push_back(std::move(node));
}

void LegacyFacade::say(std::string_view line) {
  ends_.to_client(*read_message(line), {});
}

}  // namespace mcpivot
