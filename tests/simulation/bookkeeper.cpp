#include "bookkeeper.h"

#include <fmt/format.h>

namespace simulation {

using mcpivot::ClientId;
using mcpivot::Kind;
using mcpivot::Message;
using mcpivot::Method;
using mcpivot::Seen;
using Way = Seen::Way;
using What = Seen::What;

std::string plain_id(std::string_view id) {
  return id.starts_with('"') ? '"' + mcpivot::string_value(id) : std::string(id);
}

namespace {

auto key_of(const mcpivot::GenerationId& id) {
  return std::tuple(id.instance.client, id.instance.number, id.birth);
}

}  // namespace

void Bookkeeper::saw(const Seen& seen) {
  if (seen.when < last_) wrong(seen, "was seen before what came before it");
  last_ = seen.when;
  if (gone_.contains(seen.client)) return;
  switch (seen.way) {
    case Way::from_client:
      return request_came(seen);
    case Way::to_server:
      return sent_to_server(seen);
    case Way::from_server:
      return;
    case Way::to_client:
      return told(seen);
  }
}

void Bookkeeper::request_came(const Seen& seen) {
  if (seen.message == nullptr) return;
  const Message& message = *seen.message;
  if (seen.what == What::passed && message.kind == Kind::request) {
    const Asked asked{seen.client, plain_id(message.text(message.id))};
    ++open_[asked];
    if (message.known == Method::listen && message.version) listens_.insert(asked);
  }
  if (seen.what == What::cancelled) {
    const auto open = open_.find({seen.client, plain_id(message.text(message.request_id))});
    if (open == open_.end()) return wrong(seen, "takes back what is not open");
    ++ended_[open->first];
    if (--open->second == 0) open_.erase(open);
  }
}

void Bookkeeper::sent_to_server(const Seen& seen) {
  const auto pair = std::pair(key_of(seen.generation), seen.pair);
  if (seen.what == What::made || seen.what == What::dropped || seen.message == nullptr) return;
  const Message& message = *seen.message;
  if (message.kind == Kind::request) {
    const Asked asked{seen.client, plain_id(message.text(message.id))};
    if (!open_.contains(asked)) wrong(seen, "was sent, and nobody asked it");
    if (!sent_.emplace(pair, asked).second) wrong(seen, "was sent under an id that was used before");
  } else if (message.is_answer()) {
    const auto question = asked_.find({seen.client, seen.pair});
    if (question == asked_.end() || question->second != pair.first)
      return wrong(seen, "answers what this generation did not ask");
    asked_.erase(question);
  } else if (message.known == Method::cancelled) {
    sent_.erase(pair);
  }
}

void Bookkeeper::told(const Seen& seen) {
  if (seen.message != nullptr) {
    if (seen.message->kind == Kind::request) asked_[{seen.client, seen.pair}] = key_of(seen.generation);
    if (seen.message->is_answer() && seen.message->id) answered(seen, *seen.message);
    return;
  }
  const std::string line = seen.line();
  const auto made = mcpivot::read_message(line);
  if (!made) return wrong(seen, "was made by mcpivot and isn't a message");
  if (made->is_answer() && made->id) answered(seen, *made);
}

void Bookkeeper::answered(const Seen& seen, const Message& answer) {
  Asked asked{seen.client, plain_id(answer.text(answer.id))};
  if (seen.message != nullptr) {
    const auto sent = sent_.extract({key_of(seen.generation), seen.pair});
    if (sent.empty()) return wrong(seen, "answers what was not sent to this generation");
    asked = sent.mapped();
    const std::string line = seen.line();
    const auto put_back = mcpivot::read_message(line);
    if (!put_back || plain_id(put_back->text(put_back->id)) != asked.second || asked.first != seen.client)
      wrong(seen, fmt::format("answers {}, under another id or to another client", asked.second));
  }
  const auto open = open_.find(asked);
  // A line that couldn't be read is answered with an error, and never counted as a request.
  if (open == open_.end() && seen.what == What::refused) return;
  if (open == open_.end()) return wrong(seen, "answers what is not open");
  ++ended_[asked];
  if (--open->second == 0) open_.erase(open);
}

void Bookkeeper::gone(ClientId client) {
  gone_.insert(client);
  std::erase_if(open_, [&](const auto& entry) { return entry.first.first == client; });
}

void Bookkeeper::judge_rest() {
  for (const auto& [asked, count] : open_)
    if (!listens_.contains(asked))
      oracle_.violate(fmt::format("at rest, the observer has not seen the end of {}", asked.second));
}

void Bookkeeper::wrong(const Seen& seen, const std::string& what) {
  oracle_.violate(fmt::format("the observer: this {}: {}", what, seen.line().substr(0, 200)));
}

}  // namespace simulation
