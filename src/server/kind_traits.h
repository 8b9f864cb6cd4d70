// What differs between kinds of servers in texts and numbers only. Differences in behaviour are in their
// supervisors.
//
// Any thread.
#pragma once

#include <chrono>
#include <string_view>

namespace mcpivot {

struct KindTraits {
  bool comes_and_goes;      // on its own: an attempt to reach it isn't news, and we don't see its stderr
  std::string_view absent;  // "the server …"
  std::string_view life;    // what a generation is called
  std::string_view before_ready;    // added to how one ended before it was ready
  std::string_view comes_back;      // the reason for a new generation after one that was lost
  std::string_view after_kill;      // the same, if another program killed the lost one
  std::string_view unsure;          // about a call in flight
  std::string_view garbage;         // marks a line that isn't a message
  int most_tries;                   // retries of a request that is safe to repeat
  std::chrono::milliseconds young;  // a generation that is lost sooner than this counts as useless
};

// A process dies, and we restart it: at once, but with a delay after the second early death in a row.
inline constexpr KindTraits process_traits{.comes_and_goes = false,
                                           .absent = "is not running",
                                           .life = "generation",
                                           .before_ready = " before it was ready",
                                           .comes_back = "after a crash",
                                           .after_kill = "after it was killed from outside",
                                           .unsure = "The call may have taken effect",
                                           .garbage = "stdout",
                                           .most_tries = 1,
                                           .young = std::chrono::seconds(5)};

// A daemon comes and goes on its own. It may be lost in steps: a connection, then the next one, then the
// session; requests that are safe to repeat are retried after each. And it may be back at any moment.
inline constexpr KindTraits daemon_traits{.comes_and_goes = true,
                                          .absent = "is away",
                                          .life = "session",
                                          .before_ready = "",
                                          .comes_back = "reconnected",
                                          .after_kill = "reconnected",
                                          .unsure = "Outcome unknown: the call may have taken effect",
                                          .garbage = "no message",
                                          .most_tries = 5,
                                          .young = std::chrono::seconds(1)};

}  // namespace mcpivot
