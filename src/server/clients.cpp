#include "server/clients.h"

#include <algorithm>

namespace mcpivot {
namespace {

class Nobody final : public Peer {
  void forward(std::uint32_t, const Message&, std::span<const Edit>) override {}
  void answer(std::uint32_t, std::string_view) override {}
  bool full() const override { return false; }
};

Nobody nobody;

}  // namespace

void Clients::add(ClientId id, Peer& peer) {
  entries_.insert(std::ranges::lower_bound(entries_, id, {}, &Entry::id), {id, &peer});
}

void Clients::remove(ClientId id) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.id == id; });
}

bool Clients::has(ClientId id) const {
  return &(*this)[id] != &nobody;
}

Peer& Clients::find(ClientId id) const {
  const auto found = std::ranges::lower_bound(entries_, id, {}, &Entry::id);
  return found != entries_.end() && found->id == id ? *found->peer : nobody;
}

}  // namespace mcpivot
