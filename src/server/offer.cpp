#include "server/offer.h"

#include <algorithm>
#include <utility>

#include "mcp/initialize.h"

namespace mcpivot {

std::string Offer::version() const {
  return server_version(initialize_result_);
}

bool Offer::recall(const StartCache& cache, bool lists_alone) {
  auto last = cache.load();
  if (!last && lists_alone) last = cache.load_anyones();
  if (!last) return false;
  known_ = Known::last_run;
  initialize_result_ = std::move(last->initialize_result);
  catalog_ = std::move(last->catalog);
  return true;
}

void Offer::show_at_handshake() {
  if (!known()) told_missing_ = true;
}

const FetchedLists::Refusal* Offer::why_worse(const std::vector<FetchedLists::Refusal>& refusals) const {
  if (known_ != Known::own) return nullptr;
  const auto found = std::ranges::find_if(
      refusals, [this](const FetchedLists::Refusal& one) { return !catalog_.list(one.kind).empty(); });
  return found == refusals.end() ? nullptr : &*found;
}

Offer::Change Offer::replace(std::string initialize_result, Catalog catalog, bool knows_tools) {
  Change change{.diff = compare(catalog_, catalog),
                .first = known_ != Known::own,
                .was_guess = known_ == Known::last_run,
                .was_missing = std::exchange(told_missing_, false),
                .version_before = version()};
  known_ = Known::own;
  initialize_result_ = std::move(initialize_result);
  catalog_ = std::move(catalog);
  knows_tools_ = knows_tools;
  fetches_ = {};
  return change;
}

bool Offer::begin_fetch(ListKind kind) {
  Fetch& fetch = fetch_of(kind);
  const bool begins = fetch == Fetch::idle;
  fetch = begins ? Fetch::under_way : Fetch::under_way_then_again;
  return begins;
}

bool Offer::end_fetch(ListKind kind) {
  return std::exchange(fetch_of(kind), Fetch::idle) == Fetch::under_way_then_again;
}

bool Offer::update(ListKind kind, std::vector<Item> items) {
  const bool differs = catalog_.list(kind) != items;
  catalog_.list(kind) = std::move(items);
  knows_tools_ = knows_tools_ || kind == ListKind::tools;
  return differs;
}

}  // namespace mcpivot
