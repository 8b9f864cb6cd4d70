// Who waits for a new generation, and for what. One round is under way at a time: it may have to wait until
// the old generation is gone, it builds if somebody asked for that, a generation is born, and it ends when it
// is known what came of it. Who asks meanwhile joins it. What they get has begun after they asked: a
// generation is born for them; and if a build runs already, which may miss what they want built, theirs
// is the next round.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/life.h"

namespace mcpivot {

struct ReloadOutcome {
  bool ok;
  std::string text;
  bool news = true;  // worth telling those who did not ask
};

struct Reload {
  bool build = false;
  bool renew = false;                                   // a daemon too, not only the session with it
  bool changed = false;                                 // what it runs is another one: so for other instances
  bool saved = false;                                   // it follows from a file
  std::string reason;                                   // "on request"
  std::function<void(std::string_view line)> progress;  // may be empty
  std::function<void(const ReloadOutcome&)> done;
  const void* whose = nullptr;  // of one who may give up
};

class ReloadRounds {
 public:
  using Round = Life::Round;

  // What is to be done now that somebody has joined.
  enum class Step : std::uint8_t {
    nothing,  // it goes on, and ends for them too
    begin,    // a round begins, as soon as begin() may be called
    build,    // there is to be a build after all
    bear      // a generation is to be born for them
  };
  // `build_is_enough`: what is changed during a build will be built by itself.
  Step join(Reload reload, bool can_build, bool build_is_enough);
  // The old generation is out of the way. True: the round builds first.
  bool begin(bool can_build);
  // Another one is in the way again: it waits for begin() again.
  void wait() { round_ = Round::waits; }
  // The build is done; a generation is born.
  void built() { round_ = Round::bears; }
  // A line that the build printed.
  void tell(std::string_view line) const;
  // One no longer wants it. True: nobody in the round does any more.
  bool give_up(const void* whose);
  // Everybody in the round learns what came of it. True: the next one waits for begin().
  bool end(const ReloadOutcome& outcome);
  // It does not come to a next round: who waits for it shares the fate of this one.
  void gather();

  Round round() const { return round_; }
  bool under_way() const { return !now_.empty(); }
  bool wants_renewal() const;
  // Whether the server is another one after it, for all its instances.
  bool changes_server() const;
  // Nobody in it asked for more than what was saved.
  bool follows_saves() const;
  // Of who began it.
  std::string reason() const { return now_.empty() ? "on request" : now_.front().reason; }

 private:
  Round round_ = Round::none;
  std::vector<Reload> now_;
  std::vector<Reload> later_;
  std::vector<const void*> given_up_;
};

}  // namespace mcpivot
