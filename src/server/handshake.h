// Brings a new generation to where its predecessor was: shakes hands in the client's name and era, fetches
// its lists, repeats what the client had told the predecessor. No client sees any of it.
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
    std::string why;     // "tools/list was refused: out of cheese"
    bool final = false;  // it will say the same until somebody does something about it
  };
  Catalog catalog;
  std::vector<Refusal> refusals;  // these lists are empty
};

// Fetches lists of a generation, all pages. A list that it doesn't know at all is empty, which isn't a
// refusal.
void fetch_lists(Generation& generation, const std::vector<ListKind>& kinds,
                 std::function<void(FetchedLists)> on_done);

// A server that wants other credentials, or is broken, has said nothing of its era.
bool speaks_of_era(const Message& error);

class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  struct Outcome {
    std::string initialize_result;  // or what it answered to `server/discover`
    FetchedLists lists;
    std::vector<std::string> failed_replays;  // which, and why
  };
  struct Failure {
    std::string why;       // in a sentence
    bool refused = false;  // it said no to the era itself; it may take the other one
    bool final = false;    // it will say the same until somebody does something about it
  };
  using OnDone = std::function<void(std::expected<Outcome, Failure>)>;

  // Asked of each call when it is its turn: what the user allows may change during a long handshake.
  using MayMake = std::function<bool(const Replay::Call&)>;

  // `era` is the client's; the generation has met it.
  Handshake(Generation& generation, std::string hello, Era era, std::vector<Replay::Call> calls,
            MayMake may_make);
  // `on_open` is called when the server has taken the era, before anything else is asked of it.
  void start(std::function<void()> on_open, OnDone on_done);
  bool opened() const { return opened_; }
  // The server has taken the other era: no answer is wanted.
  void withdraw() { generation_.drop_inquiry(opening_); }
  // The time is up. True: all that was missing were calls to be made again, and it is done without them.
  bool finish_without_replay(std::string_view why);
  // The call that is being made again, if it has come to that.
  const Replay::Call* replaying() const { return replaying_ < calls_.size() ? &calls_[replaying_] : nullptr; }

 private:
  void on_opened(const Message& answer);
  void fetch();
  void replay_from(std::size_t index);

  Generation& generation_;
  std::string hello_;
  Era era_;
  std::vector<Replay::Call> calls_;
  std::size_t replaying_ = static_cast<std::size_t>(-1);  // which of them
  std::int64_t inquiry_ = 0;                              // by which it is asked, or the era
  MayMake may_make_;
  std::function<void()> on_open_;
  OnDone on_done_;
  std::int64_t opening_ = 0;  // the first question
  bool opened_ = false;
  Outcome outcome_;
};

}  // namespace mcpivot
