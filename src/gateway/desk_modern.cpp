// What is specific to modern clients: which versions there are, what they listen to, and requests that each
// say who asks. Everything else is routed like a legacy client's.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/contains.h"
#include "gateway/desk.h"
#include "log/log.h"
#include "mcp/initialize.h"
#include "mcp/request_meta.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Servers whose era isn't known are asked, but a client waits no longer than this for the answer.
constexpr std::chrono::milliseconds patience_for_eras{2'000};

}  // namespace

void Desk::request_modern(Asker asker, const Message& message) {
  if (message.known == Method::initialize && !message.version) return initialize(asker, message);
  if (const std::string fault = fault_in_meta(message); !fault.empty()) return clients_.refuse(asker, fault);
  meet(message);
  switch (message.known) {
    case Method::initialize:
    case Method::ping:
    case Method::set_level:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
      return clients_.refuse(
          asker, error_answer(message.text(message.id), code::method_not_found,
                              fmt::format("Method not found: {} is not part of protocol version 2026-07-28",
                                          string_value(message.text(message.method)))));
    case Method::listen:
      return listen(asker, message);
    default:
      return route(asker, message);
  }
}

// The first request says who the client is; after a handshake, that is known already.
void Desk::meet(const Message& message) {
  if (!hello_.empty()) return;
  hello_ = hello_of(message.text(message.meta));
  era_ = Era::modern;
  control_.set_era(era_);
  // A client that waits for a single server's lists has seen none yet that could change.
  if (presentation_.client_waits) return lone().hello(client_, hello_, era_, [] {});
  for (const auto& member : members_) member->instance().hello(client_, hello_, era_, {});
}

// --- server/discover ---------------------------------------------------------------------------------------

// Clients that support both eras use the modern one as soon as it is offered, and lose what that era lacks:
// so it is offered only if a server supports it. Empty: not known.
std::optional<bool> Desk::offers_modern() const {
  if (config_.front != Front::automatic) return config_.front == Front::modern;
  bool known = true;
  for (const auto& member : members_) {
    const ServerConfig& server = member->entry().server;
    if (server.cli) continue;  // supports both, and gains nothing from either
    const std::optional<bool> taken =
        server.era ? std::optional(*server.era == Era::modern) : member->instance().eras().modern;
    if (taken == true) return true;
    known = known && taken;
  }
  return known ? std::optional(false) : std::nullopt;
}

// The answer of a server that is shown as it is; empty: not known.
std::string Desk::words_of_lone() const {
  if (!lone().eras().discovered.empty()) return lone().eras().discovered;
  const std::string& result = lone().initialize_result();
  if (lone().is_shared() && !result.empty()) return discover_result_of(result);  // its handshake is our own
  return is_discover_result(result) ? result : std::string();
}

// With several clients, we may know no more about it than its era: what it told another client isn't passed
// to this one.
bool Desk::lacks_words() const {
  return presentation_.shows_handshake && (lone().config().for_many || lone().is_shared()) &&
         lone().eras().modern == true && words_of_lone().empty();
}

void Desk::discover(Asker asker, const Message& message) {
  const std::string_view version = message.text(message.version);
  if (version.starts_with('"') && !same_id(version, modern_version))
    return clients_.refuse(asker, unsupported_version(message, offers_modern().value_or(false)));
  if (const std::string fault = fault_in_meta(message); !fault.empty()) return clients_.refuse(asker, fault);
  discovers_.push_back({asker, std::string(message.text(message.id))});
  if (offers_modern() && !lacks_words()) return answer_discovers();
  if (discovers_.size() > 1) return;
  wake();
  discover_timer_.set(patience_for_eras, [this] { answer_discovers(); });
  const std::string hello = hello_of(message.text(message.meta));
  auto left = std::make_shared<std::size_t>(members_.size() + 1);
  const auto one_less = [this, left] {
    --*left;
    if (!discovers_.empty() && (*left == 0 || (offers_modern() && !lacks_words()))) answer_discovers();
  };
  for (const auto& member : members_) member->instance().ask_era(client_, hello, one_less);
  one_less();
}

void Desk::answer_discovers() {
  discover_timer_.cancel();
  const std::string result = discover_result(offers_modern().value_or(false));
  for (const auto& [asker, id] : std::exchange(discovers_, {}))
    clients_.answer(asker, result_answer(id, result));
}

std::string Desk::discover_result(bool modern) const {
  if (!presentation_.shows_handshake) return gateway_discover_result(instructions(), modern);
  const std::string theirs = words_of_lone();
  const std::string result = theirs.empty() ? gateway_discover_result(words_of_trouble(), modern)
                                            : widened_discover_result(theirs, modern);
  return config_.trouble.empty() ? result : with_words(result, words_of_config());
}

// --- subscriptions/listen ----------------------------------------------------------------------------------

void Desk::listen(Asker asker, const Message& message) {
  if (!find_member(message.text(message.params), "notifications").starts_with('{'))
    return clients_.refuse(
        asker, error_answer(message.text(message.id), code::invalid_params,
                            "params.notifications must be an object that says what to listen for"));
  const std::string acknowledged = listens_.open(asker.exchange, message);
  if (acknowledged.empty())
    return clients_.refuse(
        asker, error_answer(message.text(message.id), code::invalid_request,
                            fmt::format("there are {} subscriptions open already; cancel one first",
                                        ClientListens::most_listens)));
  clients_.tell(asker, acknowledged);
  if (ends_) return end_listens();
  subscribe();
}

void Desk::end_listens() {
  for (const auto& [exchange, line] : listens_.farewells())
    clients_.answer({.client = client_, .exchange = exchange}, line);
  listens_ = {};
}

bool Desk::close_listen(Asker by, const Message& cancelled) {
  const std::string_view id = cancelled.text(cancelled.request_id);
  const auto waits = std::ranges::find_if(
      discovers_, [&](const Discover& one) { return by.speaks_for(one.asker) && same_id(one.id, id); });
  if (waits != discovers_.end()) {
    clients_.withdrawn(waits->asker, cancelled);
    discovers_.erase(waits);
    return true;
  }
  const auto closed = by.client == client_ ? listens_.close(by.exchange, id) : std::nullopt;
  if (!closed) return false;
  clients_.withdrawn({.client = client_, .exchange = *closed, .era = Era::modern}, cancelled);
  subscribe();
  return true;
}

// Each server gets the subscriptions to its own resources.
void Desk::subscribe() {
  if (members_.empty()) return;
  const Uris uris = listens_.uris();
  std::map<const Member*, Uris> theirs;
  for (const std::string& uri : uris)
    theirs[presentation_.passes_through ? members_.front().get() : routes().resource(uri)].insert(uri);
  for (const auto& member : members_) member->instance().listen(client_, theirs[member.get()]);
}

void Desk::refuse_question(GenerationId from, const Message& question) {
  if (Generation* const asker = find(from))
    asker->answer(
        error_answer(question.text(question.id), code::method_not_found,
                     "the client is of protocol version 2026-07-28, which has no requests from servers"));
}

// A modern client gets nothing that it didn't ask for.
void Desk::pass_unasked(const Instance& instance, ToClient& said) {
  const Message& message = said.message;
  if (message.known == Method::resource_updated)
    for (const auto& [exchange, line] : listens_.updated(message))
      clients_.tell({.client = client_, .exchange = exchange}, line);
  if (era_ == Era::legacy) return clients_.pass(said);
  if (message.kind == Kind::request) return refuse_question(said.from, message);
  // A server that doesn't know this client doesn't know that log messages must be asked for.
  if (message.known == Method::log_message && instance.client_era() == Era::modern)
    return clients_.pass(said);
  if (message.known != Method::resource_updated)
    clients_.saw({.way = Seen::Way::from_server,
                  .what = Seen::What::dropped,
                  .client = client_,
                  .server = instance.name(),
                  .generation = said.from,
                  .raw = message.raw,
                  .message = &message,
                  .why = "a modern client did not ask for it"});
}

}  // namespace mcpivot
