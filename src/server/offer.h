// What a server offers, as far as known, and what clients have seen of it: the result of its handshake and
// its lists. They are the server's own or, until it has answered, those of its last run.
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
  // As reported by the server.
  std::string version() const;

  // Until the server answers, what it offered in its last run is used; perhaps what it offered to another
  // kind of client, if this one sees only the lists. False: nothing is cached.
  bool recall(const StartCache& cache, bool lists_alone = false);
  // Not without the tools that it refused to list: if it is lazy, no client could call one to start it.
  void keep(const StartCache& cache) const {
    if (knows_tools_) cache.save(initialize_result_, catalog_);
  }

  // Clients may look at the lists at any time, not only after a handshake.
  void open_lists() { lists_open_ = true; }
  // A client has waited long enough; if nothing is known, it gets mcpivot's own handshake.
  void show_at_handshake();

  // Why a new generation can't replace the last one: it can't list what that one offered. Null: it
  // can.
  const FetchedLists::Refusal* why_worse(const std::vector<FetchedLists::Refusal>& refusals) const;
  // A new generation is serving. What has changed for clients?
  struct Change {
    Diff diff;
    bool first;        // the server has not answered before
    bool was_guess;    // clients saw what it offered in its last run
    bool was_missing;  // a client got mcpivot's own handshake
    std::string version_before;
  };
  Change replace(std::string initialize_result, Catalog catalog, bool knows_tools = true);
  // Whether to tell clients that this list has changed. `news`: they are told about the generation.
  bool announces(const Change& change, ListKind kind, bool news) const {
    return (news || lists_open_) && !change.diff.of(kind).empty();
  }

  // The server says that a list changed. True: fetch it; otherwise it is being fetched already, and will be
  // again.
  bool begin_fetch(ListKind kind);
  // It has been fetched. True: it has changed in the meantime; fetch it again.
  bool end_fetch(ListKind kind);
  // True: it has changed.
  bool update(ListKind kind, std::vector<Item> items);

 private:
  enum class Known : std::uint8_t { nothing, last_run, own };
  enum class Fetch : std::uint8_t { idle, under_way, under_way_then_again };
  Fetch& fetch_of(ListKind kind) { return fetches_[static_cast<std::size_t>(kind)]; }

  Known known_ = Known::nothing;
  std::string initialize_result_;
  Catalog catalog_;
  bool knows_tools_ = true;                        // false: it refused to list them
  std::array<Fetch, all_lists.size()> fetches_{};  // of the current generation
  bool told_missing_ = false;                      // a client was told that nothing is known
  bool lists_open_ = false;
};

}  // namespace mcpivot
