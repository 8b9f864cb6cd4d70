#include "server/clients.h"

#include <algorithm>

#include "mcp/era.h"

namespace mcpivot {
namespace {

class Nobody final : public Peer {
  void pass(ToClient&) override {}
  void answer(std::uint32_t, std::string_view) override {}
  void answer(std::uint32_t, const Message&, std::span<const Edit>) override {}
  bool full() const override { return false; }
};

Nobody nobody;

}  // namespace

void Clients::add(ClientId id, Peer& peer) {
  entries_.insert(std::ranges::lower_bound(entries_, id, {}, &Entry::id), {id, &peer});
}

void Clients::remove(ClientId id) {
  const auto found = std::ranges::lower_bound(entries_, id, {}, &Entry::id);
  if (found != entries_.end() && found->id == id) entries_.erase(found);
}

void Clients::forget(GenerationId from) const {
  if (from.instance.client != ClientId::nobody) return (*this)[from.instance.client].forget(from);
  std::vector<ClientId> all;
  for (const Entry& entry : entries_) all.push_back(entry.id);
  for (const ClientId id : all) (*this)[id].forget(from);
}

bool Clients::has(ClientId id) const {
  return &(*this)[id] != &nobody;
}

Peer& Clients::find(ClientId id) const {
  const auto found = std::ranges::lower_bound(entries_, id, {}, &Entry::id);
  return found != entries_.end() && found->id == id ? *found->peer : nobody;
}

void Clients::answer(Asker to, const Message& inside, std::span<const Edit> around) const {
  if (observed())
    saw({.way = Seen::Way::to_client,
         .what = Seen::What::made,
         .client = to.client,
         .exchange = to.exchange,
         .raw = inside.raw,
         .edits = around});
  (*this)[to.client].answer(to.exchange, inside, around);
}

void Clients::withdrawn(Asker by, const Message& cancellation) const {
  if (observed())
    saw({.way = Seen::Way::from_client,
         .what = Seen::What::cancelled,
         .client = by.client,
         .exchange = by.exchange,
         .raw = cancellation.raw,
         .message = &cancellation});
  (*this)[by.client].withdrawn(by.exchange);
}

void Clients::observe(Observer& observer, const Clock& clock, bool all) {
  ignore(observer);
  observers_.push_back({&observer, all});
  clock_ = &clock;
  observed_ = observed_ || all;
}

void Clients::ignore(const Observer& observer) {
  std::erase_if(observers_, [&](const Watching& one) { return one.observer == &observer; });
  observed_ = std::ranges::any_of(observers_, &Watching::all);
}

void Clients::saw(Seen seen) const {
  if (observers_.empty()) return;
  seen.when = clock_->now();
  if (seen.way == Seen::Way::to_client && !has(seen.client)) {
    seen.what = Seen::What::dropped;
    seen.why = "it has gone";
  }
  const bool is_for_all = seen.what == Seen::What::refused || seen.what == Seen::What::dropped;
  for (const Watching& one : observers_)
    if (one.all || is_for_all) one.observer->saw(seen);
}

// A question is reported by the client's session, once it has an id.
void Clients::see(const ToClient& said) const {
  if (said.is_question()) return;
  saw({.way = Seen::Way::to_client,
       .what = said.changed ? Seen::What::changed : Seen::What::passed,
       .client = said.to.client,
       .exchange = said.to.exchange,
       .generation = said.from,
       .pair = said.pair,
       .raw = said.message.raw,
       .edits = said.edits.list(),
       .message = &said.message});
}

void Clients::tell(Asker to, std::string_view line) const {
  if (observed())
    saw({.way = Seen::Way::to_client, .what = Seen::What::made, .client = to.client, .raw = line});
  (*this)[to.client].tell(to.exchange, line);
}

void Clients::say(Asker to, Seen::What what, std::string_view line) const {
  const std::string modern = to.era == Era::legacy ? std::string() : with_result_type(line);
  if (!modern.empty()) line = modern;
  if (observed())
    saw({.way = Seen::Way::to_client,
         .what = what,
         .client = to.client,
         .exchange = to.exchange,
         .raw = line});
  (*this)[to.client].answer(to.exchange, line);
}

}  // namespace mcpivot
