// Who waits for a new generation, and for what. One round is under way at a time: it may have to wait until
// the old generation is gone, it builds if somebody asked for that, and it ends when it is known what came of
// it. Who asks meanwhile joins it, unless it is too late for the build that they want: they get the next
// round.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

struct ReloadOutcome {
  bool ok;
  std::string text;
  bool news = true;  // worth telling those who did not ask
};

struct Reload {
  bool build = false;
  bool renew = false;                                   // a daemon too, not only the session with it
  std::string reason;                                   // "on request"
  std::function<void(std::string_view line)> progress;  // may be empty
  std::function<void(const ReloadOutcome&)> done;
};

class ReloadRounds {
 public:
  // True: a round begins with this one; it waits for begin().
  bool join(Reload reload, bool can_build);
  // The old generation is out of the way. True: the round builds first.
  bool begin(bool can_build);
  // A line that the build printed.
  void tell(std::string_view line) const;
  // One of the round no longer wants it. True: nobody does any more.
  bool give_up_one();
  // Everybody in the round learns what came of it. True: the next one waits for begin().
  bool end(const ReloadOutcome& outcome);
  // It does not come to a next round: who waits for it shares the fate of this one.
  void gather();

  bool under_way() const { return !now_.empty(); }
  bool begun() const { return stage_ == Stage::building || stage_ == Stage::plain; }
  bool wants_renewal() const;
  // Of who began it.
  std::string reason() const { return now_.empty() ? "on request" : now_.front().reason; }

 private:
  enum class Stage : std::uint8_t { none, waiting, building, plain };

  Stage stage_ = Stage::none;
  std::vector<Reload> now_;
  std::vector<Reload> later_;
  std::size_t given_up_ = 0;
};

}  // namespace mcpivot
