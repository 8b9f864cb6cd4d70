// Brings a new generation to where its predecessor was: shakes hands in the client's name, fetches its lists,
// repeats what the client had told the predecessor. No client sees any of it.
//
// Belongs to whoever waits for its end, and may be dropped at any time: it then ends in silence. One thread.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mcp/catalog.h"
#include "server/generation.h"
#include "server/replay.h"

namespace mcpivot {

// What a generation listed.
struct FetchedLists {
  struct Refusal {
    ListKind kind;
    std::string why;  // "tools/list was refused: out of cheese"
  };
  Catalog catalog;
  std::vector<Refusal> refusals;  // these lists are empty
};

// Fetches lists of a generation, all pages. One that it does not know at all is empty, which is no refusal.
void fetch_lists(Generation& generation, const std::vector<ListKind>& kinds,
                 std::function<void(FetchedLists)> on_done);

class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  struct Outcome {
    std::string initialize_result;
    FetchedLists lists;
    std::vector<std::string> failed_replays;  // which, and why
  };
  using OnDone = std::function<void(std::expected<Outcome, std::string>)>;

  // Asked of each call when it is its turn: what the user allows may change during a long handshake.
  using MayMake = std::function<bool(const Replay::Call&)>;

  Handshake(Generation& generation, std::string hello, std::vector<Replay::Call> calls, MayMake may_make,
            OnDone on_done);
  void start();
  // The time is up. True: all that was missing were calls to be made again, and it is done without them.
  bool finish_without_replay(std::string_view why);
  // The call that is being made again, if it has come to that.
  const Replay::Call* replaying() const { return replaying_ < calls_.size() ? &calls_[replaying_] : nullptr; }

 private:
  void on_initialized(const Message& answer);
  void replay_from(std::size_t index);

  Generation& generation_;
  std::string hello_;
  std::vector<Replay::Call> calls_;
  std::size_t replaying_ = static_cast<std::size_t>(-1);  // which of them
  std::int64_t inquiry_ = 0;                              // by which it is asked
  MayMake may_make_;
  OnDone on_done_;
  Outcome outcome_;
};

}  // namespace mcpivot
