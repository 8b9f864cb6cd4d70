// How servers of a kind are dealt with, where kinds differ in words and numbers alone. What they do
// differently is in their supervisors.
//
// Any thread.
#pragma once

#include <chrono>
#include <string_view>

namespace mcpivot {

struct Manner {
  bool comes_and_goes;              // without us: trying to reach it is no news, and its stderr isn't ours
  std::string_view absent;          // the server …
  std::string_view life;            // what a generation is called
  std::string_view unborn;          // follows how one ended that was not ready yet
  std::string_view comes_back;      // why there is a new generation after one that was lost
  std::string_view unsure;          // of a call that was under way
  std::string_view garbage;         // what a line that isn't a message is marked with
  int most_tries;                   // of a request that does no harm, after the first
  std::chrono::milliseconds young;  // a generation that is lost sooner than this was good for nothing
};

// A process dies, and is started again by us. One that dies young is not started again at once, the second
// time.
inline constexpr Manner process_manner{.comes_and_goes = false,
                                       .absent = "is not running",
                                       .life = "generation",
                                       .unborn = " before it was ready",
                                       .comes_back = "after a crash",
                                       .unsure = "It may have taken effect; it was not sent again.",
                                       .garbage = "stdout",
                                       .most_tries = 1,
                                       .young = std::chrono::seconds(5)};

// A daemon goes and comes without us. It may be lost bit by bit: a connection, then the next one, then the
// session; what does no harm is sent again for each of them. And it may be there at any moment.
inline constexpr Manner daemon_manner{
    .comes_and_goes = true,
    .absent = "is away",
    .life = "session",
    .unborn = "",
    .comes_back = "connected again",
    .unsure = "Outcome unknown: it may have taken effect; it was not sent again.",
    .garbage = "no message",
    .most_tries = 5,
    .young = std::chrono::seconds(1)};

}  // namespace mcpivot
