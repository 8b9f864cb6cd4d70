// What differs between kinds of servers in words and numbers alone. What they do differently is in their
// supervisors.
//
// Any thread.
#pragma once

#include <chrono>
#include <string_view>

namespace mcpivot {

struct Manner {
  bool comes_and_goes;              // without us: a try to reach it is not news, and its stderr isn't ours
  std::string_view absent;          // the server …
  std::string_view life;            // what a generation is called
  std::string_view unborn;          // follows how one ended that was not yet ready
  std::string_view comes_back;      // why there is a new generation after one that was lost
  std::string_view unsure;          // of a call in flight
  std::string_view garbage;         // what a line that isn't a message is marked with
  int most_tries;                   // retries of a request that is safe to repeat
  std::chrono::milliseconds young;  // a generation that is lost sooner than this was of no use
};

// A process dies, and we restart it: at once, but after the second early death in a row with a delay.
inline constexpr Manner process_manner{.comes_and_goes = false,
                                       .absent = "is not running",
                                       .life = "generation",
                                       .unborn = " before it was ready",
                                       .comes_back = "after a crash",
                                       .unsure = "The call may have taken effect; mcpivot did not retry it.",
                                       .garbage = "stdout",
                                       .most_tries = 1,
                                       .young = std::chrono::seconds(5)};

// A daemon comes and goes without us. It may be lost in steps: a connection, then the next one, then the
// session; requests that are safe to repeat are retried after each. And it may be back at any moment.
inline constexpr Manner daemon_manner{
    .comes_and_goes = true,
    .absent = "is away",
    .life = "session",
    .unborn = "",
    .comes_back = "reconnected",
    .unsure = "Outcome unknown: the call may have taken effect; mcpivot did not retry it.",
    .garbage = "no message",
    .most_tries = 5,
    .young = std::chrono::seconds(1)};

}  // namespace mcpivot
