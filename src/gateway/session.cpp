#include "gateway/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/contains.h"
#include "gateway/desk.h"
#include "rpc/answers.h"
#include "server/generation.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_held = 64;
// Questions that the client has not answered. Nothing else would end one that it never answers.
constexpr std::size_t most_asked = 1024;

std::string refusal_text(const Refusal& refusal) {
  return fmt::format("{}: {}", refusal.code == Refusal::not_json ? "Parse error" : "Invalid request",
                     refusal.reason);
}

}  // namespace

Session::Session(Outlet& outlet, Clients& clients, Desk& desk)
    : outlet_(outlet),
      clients_(clients),
      desk_(desk),
      id_(desk.client()),
      asked_(Requests::small(desk.clock())),
      initialized_(desk.shaken()) {
  clients_.add(id_, *this);
}

Session::~Session() {
  clients_.remove(id_);
}

void Session::pass(ToClient& said) {
  if (said.is_question()) {
    if (said.message.kind == Kind::request) return ask(said.from, said.message);
    return ask_no_more(said.from, said.message);
  }
  if (said.message.is_answer()) return outlet_.answer(said.to.exchange, said.message, said.edits.list());
  outlet_.tell(said.to.exchange, said.message, said.edits.list());
}

void Session::say(std::string_view line) {
  if (clients_.observed())
    clients_.saw({.way = Seen::Way::to_client, .what = Seen::What::made, .client = id_, .raw = line});
  outlet_.tell(0, line);
}

void Session::see_sent(GenerationId from, const Message& message, const Edits& edits,
                       std::int64_t pair) const {
  if (!clients_.observed()) return;
  clients_.saw({.way = Seen::Way::to_client,
                .what = Seen::What::passed,
                .client = id_,
                .generation = from,
                .pair = pair,
                .raw = message.raw,
                .edits = edits.list(),
                .message = &message});
}

void Session::saw(Seen::What what, std::string_view raw, const Message* message, std::string_view why,
                  std::uint32_t exchange) const {
  clients_.saw({.way = Seen::Way::from_client,
                .what = what,
                .client = id_,
                .exchange = exchange,
                .pair = message != nullptr && message->is_answer() ? own_id(message->text(message->id)) : 0,
                .raw = raw,
                .message = message,
                .why = why});
}

void Session::take(std::uint32_t exchange, const Message& message) {
  if (clients_.observed()) saw(Seen::What::passed, message.raw, &message, {}, exchange);
  if (message.is_answer()) {
    on_answer(message);
  } else if (message.kind == Kind::request) {
    desk_.request({.client = id_, .exchange = exchange}, message);
    if (!held_.empty() && desk_.is_modern()) refuse_held();
  } else if (message.known == Method::progress) {
    on_progress(message);
  } else if (message.known == Method::cancelled && message.request_id) {
    desk_.cancel({.client = id_}, message);
  } else {
    desk_.notify(message);
    if (message.known != Method::initialized) return;
    initialized_ = true;
    for (const Held& held : std::exchange(held_, {})) put(held.from, held.request.message());
    for (const std::string& line : std::exchange(announcements_, {})) say(line);
  }
}

void Session::on_answer(const Message& message) {
  const std::int64_t own = own_id(message.text(message.id));
  if (const Requests::Request* open = asked_.find(own); open != nullptr && message.kind == Kind::result)
    asked_.keep_token(own, open->origin);
  if (const auto request = asked_.take(own)) {
    if (Generation* const asker = desk_.find(request->origin)) asker->answer(id_, message, request->id());
  } else {
    saw(Seen::What::dropped, message.raw, &message, "a response that nobody is waiting for");
  }
}

void Session::on_progress(const Message& message) {
  const auto token = asked_.find_token(own_id(message.text(message.progress_token)));
  if (!token) return saw(Seen::What::dropped, message.raw, &message, "progress with an unknown token");
  if (Generation* const asker = desk_.find(token->origin)) asker->progress(id_, message, token->text);
}

void Session::abandon(std::uint32_t exchange, std::string_view id) {
  const std::string line = cancellation(id, "the client closed the stream");
  const auto message = read_message(line);
  if (message) desk_.cancel({.client = id_, .exchange = exchange}, *message);
}

void Session::refuse(std::uint32_t exchange, std::string_view line, const Refusal& refusal) {
  saw(Seen::What::refused, line, nullptr, refusal.reason);
  clients_.refuse({.client = id_, .exchange = exchange},
                  error_answer(refusal.id, refusal.code, refusal_text(refusal)));
}

void Session::refuse_oversize(const Skim& skim, std::size_t limit) {
  const std::string why =
      skim.size() > limit
          ? fmt::format("the message is {} bytes, over the limit of {} for messages from a client",
                        skim.size(), limit)
          : fmt::format("mcpivot has no memory left for a message of {} bytes", skim.size());
  saw(Seen::What::refused, {}, nullptr, fmt::format("{} (method {}, id {})", why, skim.method(), skim.id()));
  if (!skim.method().empty()) {
    if (!skim.id().empty())
      clients_.refuse({.client = id_}, error_answer(skim.id(), code::invalid_request, why));
  } else if (auto request = asked_.take(own_id(skim.id()))) {
    if (Generation* const asker = desk_.find(request->origin))
      asker->answer(error_answer(request->id(), code::internal_error, "the client answered, but " + why));
  } else {
    clients_.refuse({.client = id_}, error_answer(skim.id(), code::invalid_request, why));
  }
}

void Session::announce(std::string_view line) {
  if (initialized_ || !desk_.shakes_hands()) return say(line);
  if (!contains(announcements_, line)) announcements_.emplace_back(line);
}

void Session::ask(GenerationId from, const Message& request) {
  const bool now = initialized_ || !desk_.shakes_hands() || request.known == Method::ping;
  if (now ? asked_.size() < most_asked : held_.size() < most_held) {
    if (now) return put(from, request);
    held_.push_back({from, KeptMessage(request)});
  } else if (Generation* const asker = desk_.find(from)) {
    asker->answer(error_answer(
        request.text(request.id), code::connection_closed,
        now ? fmt::format("the client has not answered {} requests; it must answer some first", most_asked)
            : "the client is not initialized yet"));
  }
}

// The client has turned out to be modern, and will never send `initialized`, which these waited for.
void Session::refuse_held() {
  for (const Held& held : std::exchange(held_, {})) desk_.refuse_question(held.from, held.request.message());
  announcements_.clear();
}

// Gives the server's request an id of our own and sends it.
void Session::put(GenerationId from, const Message& request) {
  const std::int64_t own = asked_.add(request, from);
  const IdText id(own);
  Edits edits;
  edits.replace(request.id, id.view()).replace(request.progress_token, id.view());
  see_sent(from, request, edits, own);
  outlet_.ask(request, edits.list());
}

void Session::ask_no_more(GenerationId from, const Message& cancelled) {
  std::erase_if(held_, [&](const Held& held) {
    const Message request = held.request.message();
    return held.from == from && same_id(request.text(request.id), cancelled.text(cancelled.request_id));
  });
  const std::int64_t own = asked_.find_original(cancelled.text(cancelled.request_id),
                                                [&](const GenerationId& origin) { return origin == from; });
  if (own == 0) return;
  asked_.close(own);
  const IdText id(own);
  Edits edits;
  edits.replace(cancelled.request_id, id.view());
  see_sent(from, cancelled, edits, own);
  outlet_.tell(0, cancelled, edits.list());
}

void Session::forget(GenerationId from) {
  asked_.drop_tokens([&](const GenerationId& origin) { return origin == from; });
  std::erase_if(held_, [&](const Held& held) { return held.from == from; });
  for (const auto& taken : asked_.take_if([&](const auto& request) { return request.origin == from; }))
    say(cancellation(IdText(taken.own).view(), "the server that asked is gone"));
}

std::vector<std::string> Session::questions() const {
  std::vector<std::string> ids;
  for (const std::int64_t id : asked_.ids()) ids.emplace_back(IdText(id).view());
  return ids;
}

}  // namespace mcpivot
