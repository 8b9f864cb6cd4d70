// The callers that wait for a new generation, and for what. One round is under way at a time: it may have to
// wait until the old generation is gone, it builds if a caller asked for that, starts a generation, and ends
// when the outcome is known. Requests in the meantime join it. What they get was begun after they asked:
// another generation is started for them; and if a build is already running, which may miss what they want
// built, they get the next round.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/ids.h"
#include "server/life.h"

namespace mcpivot {

struct ReloadOutcome {
  bool ok;
  std::string text;
  bool news = true;  // worth telling clients that didn't ask
};

struct Reload {
  bool build = false;
  bool renew = false;                                   // the daemon too, not only the session with it
  bool changed = false;                                 // the server has changed, for other instances as well
  bool saved = false;                                   // because a file was saved
  bool accepts = false;                                 // what was held back: it isn't checked again
  std::string reason;                                   // "on request"
  std::function<void(std::string_view line)> progress;  // may be empty
  std::function<void(const ReloadOutcome&)> done;
  ReloadId id = ReloadId::none;       // none: it can't be cancelled
  ClientId asker = ClientId::nobody;  // a terminal has an id too
};

class ReloadRounds {
 public:
  using Round = Life::Round;

  // What to do now that a caller has joined.
  enum class Step : std::uint8_t {
    nothing,  // it goes on, and its end is theirs too
    begin,    // a round begins as soon as begin() may be called
    build,    // a build is needed after all
    bear      // a generation must be started for them
  };
  // `build_is_enough`: changes during a build trigger another build anyway.
  Step join(Reload reload, bool can_build, bool build_is_enough);
  // The old generation is gone. True: the round builds first.
  bool begin(bool can_build);
  // Another one exists again: the round waits for begin() again.
  void wait() { round_ = Round::waits; }
  // The build is done; a generation is started.
  void built() { round_ = Round::bears; }
  // A line that the build printed.
  void tell(std::string_view line) const;
  // One requester no longer wants it. True: no caller in the round does any more.
  bool give_up(ReloadId id);
  // Tells everybody in the round the outcome. True: the next round waits for begin().
  bool end(const ReloadOutcome& outcome);
  // There won't be a next round: callers that wait for it get the outcome of this one.
  void gather();

  Round round() const { return round_; }
  bool under_way() const { return !now_.empty(); }
  bool wants_renewal() const;
  // Whether it changes the server for all its instances.
  bool changes_server() const;
  // Whether that is to be checked: not what a user has accepted.
  bool wants_check() const;
  // No caller in it asked for more than the saved changes.
  bool follows_saves() const;
  // Those that get its outcome as an answer.
  std::vector<ClientId> askers() const;
  // Whether it is also for something that no client and no terminal asked for, so nobody gets that as an
  // answer.
  bool is_unasked() const;
  // The reason of the caller that began it.
  std::string reason() const { return now_.empty() ? "on request" : now_.front().reason; }

 private:
  Round round_ = Round::none;
  std::vector<Reload> now_;
  std::vector<Reload> later_;
  std::vector<ReloadId> given_up_;
};

}  // namespace mcpivot
