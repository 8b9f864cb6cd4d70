// What a server offers, as far as is known, and what clients have been shown of it: the result of its
// handshake and its lists. They are the server's own, or those of its last run until it has spoken.
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mcp/catalog.h"
#include "server/handshake.h"
#include "server/start_cache.h"

namespace mcpivot {

class Offer {
 public:
  bool known() const { return known_ != Known::nothing; }
  const Catalog& catalog() const { return catalog_; }
  // The server's own result of the handshake; empty before there was one.
  const std::string& initialize_result() const { return initialize_result_; }
  // As the server tells it.
  std::string version() const;

  // Until the server speaks, what it offered in its last run is taken for what it offers; to another kind of
  // client, perhaps, if this one sees the lists alone. False: nothing is kept of that.
  bool recall(const StartCache& cache, bool lists_alone = false);
  void keep(const StartCache& cache) const { cache.save(initialize_result_, catalog_); }

  // Clients look at the lists at any time, not only when they shake hands.
  void open_lists() { lists_open_ = true; }
  // A client has waited long enough; if nothing is known it shakes hands with us alone.
  void show_at_handshake();

  // Why a new generation can't take the place of the last one: it can't list what that one offered. Null: it
  // can.
  const FetchedLists::Refusal* why_worse(const std::vector<FetchedLists::Refusal>& refusals) const;
  // A new generation serves. What is different for clients?
  struct Change {
    Diff diff;
    bool first;        // the server has not spoken before
    bool was_guess;    // clients saw what it offered in its last run
    bool was_missing;  // a client shook hands with us alone
    std::string version_before;
  };
  Change replace(std::string initialize_result, Catalog catalog);
  // Whether clients are to be told that this list is another one. `news`: they are told of the generation.
  bool announces(const Change& change, ListKind kind, bool news) const {
    return (news || lists_open_) && !change.diff.of(kind).empty();
  }

  // The server says that a list changed. True: it is to be fetched; else it is being fetched already, and
  // will be again.
  bool begin_fetch(ListKind kind);
  // It has been fetched. True: it has changed meanwhile, and is to be fetched again.
  bool end_fetch(ListKind kind);
  // True: it is another one.
  bool update(ListKind kind, std::vector<Item> items);

 private:
  enum class Known : std::uint8_t { nothing, last_run, own };
  enum class Fetch : std::uint8_t { idle, under_way, under_way_then_again };
  Fetch& fetch_of(ListKind kind) { return fetches_[static_cast<std::size_t>(kind)]; }

  Known known_ = Known::nothing;
  std::string initialize_result_;
  Catalog catalog_;
  std::array<Fetch, all_lists.size()> fetches_{};  // of the generation that serves
  bool told_missing_ = false;                      // a client, that nothing is known
  bool lists_open_ = false;
};

}  // namespace mcpivot
