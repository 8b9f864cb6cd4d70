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

std::string refusal_text(const Refusal& refusal) {
  return fmt::format("{}: {}", refusal.code == Refusal::not_json ? "Parse error" : "Invalid request",
                     refusal.reason);
}

}  // namespace

Session::Session(Link& link, Clients& clients, Desk& desk, std::function<void(std::string_view)> on_end)
    : link_(link),
      clients_(clients),
      desk_(desk),
      id_(desk.client()),
      on_end_(std::move(on_end)),
      asked_(desk.clock()),
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
  if (said.to.batch == 0) return link_.send(said.message, said.edits.list());
  answer(said.to.batch, said.message, said.edits.list());
}

void Session::answer(std::uint32_t batch, const Message& inside, std::span<const Edit> around) {
  if (batch == 0) return link_.send(inside, around);
  answer(batch, spliced(inside.raw, around));
}

void Session::answer(std::uint32_t batch, std::string_view line) {
  if (batch == 0) return link_.send(line);
  const auto found = batches_.find(batch);
  if (found == batches_.end()) return;
  std::string& answers = found->second.answers;
  answers += answers.empty() ? '[' : ',';
  answers += line;
  settle_one(batch);
}

void Session::withdrawn(std::uint32_t batch) {
  if (batch != 0) settle_one(batch);
}

// Sends what has been collected, if nothing is missing any more. A batch of notifications is not answered.
void Session::settle_one(std::uint32_t batch) {
  const auto found = batches_.find(batch);
  if (found == batches_.end() || --found->second.expected > 0) return;
  const std::string answers = std::move(found->second.answers);
  batches_.erase(found);
  if (!answers.empty()) link_.send(answers + "]");
}

void Session::say(std::string_view line, Seen::What what) {
  if (clients_.observed())
    clients_.saw({.way = Seen::Way::to_client, .what = what, .client = id_, .raw = line});
  link_.send(line);
}

void Session::send(GenerationId from, const Message& message, const Edits& edits, std::int64_t pair) {
  if (clients_.observed())
    clients_.saw({.way = Seen::Way::to_client,
                  .what = Seen::What::passed,
                  .client = id_,
                  .generation = from,
                  .pair = pair,
                  .raw = message.raw,
                  .edits = edits.list(),
                  .message = &message});
  link_.send(message, edits.list());
}

void Session::saw(Seen::What what, std::string_view raw, const Message* message, std::string_view why) const {
  clients_.saw({.way = Seen::Way::from_client,
                .what = what,
                .client = id_,
                .pair = message != nullptr && message->is_answer() ? own_id(message->text(message->id)) : 0,
                .raw = raw,
                .message = message,
                .why = why});
}

void Session::on_message(const Message& message) {
  take(0, message);
  pause_if_full();
}

// A message from the client, on its own or in a batch.
void Session::take(std::uint32_t batch, const Message& message) {
  if (clients_.observed()) saw(Seen::What::passed, message.raw, &message);
  if (message.is_answer()) {
    on_answer(message);
  } else if (message.kind == Kind::request) {
    desk_.request({.client = id_, .batch = batch}, message);
  } else if (message.known == Method::progress) {
    on_progress(message);
  } else if (message.known == Method::cancelled && message.request_id) {
    desk_.cancel(id_, message);
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
    if (Generation* const asker = desk_.find(request->origin)) asker->answer(message, request->id());
  } else {
    saw(Seen::What::dropped, message.raw, &message, "an answer that nobody waits for");
  }
}

void Session::on_progress(const Message& message) {
  const auto token = asked_.find_token(own_id(message.text(message.progress_token)));
  if (!token)
    return saw(Seen::What::dropped, message.raw, &message, "progress under a token that is not known");
  if (Generation* const asker = desk_.find(token->origin)) asker->progress(message, token->text);
}

void Session::on_batch(std::string_view line) {
  auto elements =
      batches_allowed_
          ? read_batch(line)
          : std::unexpected(Refusal{Refusal::not_a_message,
                                    "only protocol version 2025-03-26 has batches; send the messages "
                                    "one by one",
                                    {}});
  if (!elements) return on_unreadable(line, elements.error());
  const std::uint32_t batch = ++last_batch_;
  Batch& opened = batches_[batch];
  opened.expected = 1;  // ourselves, so that it stays open until every element has been sent
  for (const std::string_view element : *elements) {
    auto message = read_message(element);
    if (!message || message->kind == Kind::request) ++opened.expected;
    if (message) {
      take(batch, *message);
    } else {
      saw(Seen::What::refused, element, nullptr, message.error().reason);
      clients_.refuse({.client = id_, .batch = batch},
                      error_answer(message.error().id, message.error().code, refusal_text(message.error())));
    }
  }
  settle_one(batch);
  pause_if_full();
}

void Session::on_unreadable(std::string_view line, const Refusal& refusal) {
  saw(Seen::What::refused, line, nullptr, refusal.reason);
  say(error_answer(refusal.id, refusal.code, refusal_text(refusal)), Seen::What::refused);
  pause_if_full();
}

void Session::on_oversize(const Skim& skim, std::size_t limit) {
  const std::string why =
      skim.size() > limit
          ? fmt::format("the message is {} bytes, over the limit of {} for messages from a client",
                        skim.size(), limit)
          : fmt::format("mcpivot has no memory for a message of {} bytes", skim.size());
  saw(Seen::What::refused, {}, nullptr, fmt::format("{} (method {}, id {})", why, skim.method(), skim.id()));
  if (!skim.method().empty()) {
    if (!skim.id().empty()) say(error_answer(skim.id(), code::invalid_request, why), Seen::What::refused);
  } else if (auto request = asked_.take(own_id(skim.id()))) {
    if (Generation* const asker = desk_.find(request->origin))
      asker->answer(error_answer(request->id(), code::internal_error, "the client answered, but " + why));
  } else {
    say(error_answer(skim.id(), code::invalid_request, why), Seen::What::refused);
  }
}

void Session::announce(std::string_view line) {
  if (initialized_ || !desk_.shakes_hands()) return say(line);
  if (!contains(announcements_, line)) announcements_.emplace_back(line);
}

void Session::ask(GenerationId from, const Message& request) {
  if (initialized_ || !desk_.shakes_hands() || request.known == Method::ping) return put(from, request);
  if (held_.size() < most_held) {
    held_.push_back({from, KeptMessage(request)});
  } else if (Generation* const asker = desk_.find(from)) {
    asker->answer(
        error_answer(request.text(request.id), code::connection_closed, "the client is not initialized yet"));
  }
}

// Gives the server's request an id of our own and sends it.
void Session::put(GenerationId from, const Message& request) {
  const std::int64_t own = asked_.add(request, from);
  const IdText id(own);
  Edits edits;
  edits.replace(request.id, id.view()).replace(request.progress_token, id.view());
  send(from, request, edits, own);
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
  send(from, cancelled, edits.replace(cancelled.request_id, id.view()), own);
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

void Session::pause_if_full() {
  // Answers of our own go to the client without a server in between, so its own link counts too.
  if (desk_.full() || link_.full()) link_.pause();
}

void Session::on_writable() {
  desk_.clients_writable();
  if (!desk_.full()) link_.resume();
}

void Session::on_end(std::string_view why) {
  on_end_(why);
}

}  // namespace mcpivot
