// Brings a new generation to where its predecessor was: does the handshake in the client's name and era,
// fetches the lists, and repeats what the client had told the predecessor. No client sees any of it.
//
// Belongs to the caller that waits for its end, and may be dropped at any time: it then ends silently. One
// thread.
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
    bool final = false;  // retrying is useless until the cause is fixed
  };
  Catalog catalog;
  std::vector<Refusal> refusals;  // these lists are empty
};

// Fetches all pages of a generation's lists. A list that the server doesn't have at all is empty, which isn't
// a refusal.
void fetch_lists(Generation& generation, const std::vector<ListKind>& kinds,
                 std::function<void(FetchedLists)> on_done);

// Whether an error says something about the server's era: wrong credentials or a broken server don't.
bool speaks_of_era(const Message& error);

class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  struct Outcome {
    std::string initialize_result;  // or the answer to `server/discover`
    FetchedLists lists;
    std::vector<std::string> failed_replays;  // which, and why
  };
  struct Failure {
    std::string why;       // in a sentence
    bool refused = false;  // it rejected the era itself; it may accept the other one
    bool final = false;    // retrying is useless until the cause is fixed
  };
  using OnDone = std::function<void(std::expected<Outcome, Failure>)>;

  // Asked for each call when its turn comes: what the user allows may change during a long handshake.
  using MayMake = std::function<bool(const Replay::Call&)>;

  // `era` is the client's; meet() must have been called.
  Handshake(Generation& generation, std::string hello, Era era, std::vector<Replay::Call> calls,
            MayMake may_make);
  // `on_open` is called when the server has accepted the era, before it is asked anything else.
  void start(std::function<void()> on_open, OnDone on_done);
  bool opened() const { return opened_; }
  // The server has accepted the other era: no answer is wanted.
  void withdraw() { generation_.drop_inquiry(opening_); }
  // Time is up. True: only replayed calls were missing, and the handshake ends successfully without them.
  bool finish_without_replay(std::string_view why);
  // Repeats what clients have told the predecessor since the handshake was done; `calls` is what counts now.
  // True: some of these calls were not made yet; they are made now, after which the handshake ends again and
  // reports those that failed. `outcome` is that of its first end.
  bool make_up_for(std::vector<Replay::Call> calls, const Outcome& outcome);
  // The call that is being replayed, if any.
  const Replay::Call* replaying() const { return replaying_ < calls_.size() ? &calls_[replaying_] : nullptr; }

 private:
  void on_opened(const Message& answer);
  void fetch();
  void replay_from(std::size_t index);

  Generation& generation_;
  std::string hello_;
  Era era_;
  std::vector<Replay::Call> calls_;
  std::vector<Replay::Call> made_;                        // before them
  std::size_t replaying_ = static_cast<std::size_t>(-1);  // index into calls_
  std::int64_t inquiry_ = 0;                              // of the replayed call, or of the handshake
  MayMake may_make_;
  std::function<void()> on_open_;
  OnDone on_done_;
  std::int64_t opening_ = 0;  // the first question
  bool opened_ = false;
  Outcome outcome_;
};

}  // namespace mcpivot
