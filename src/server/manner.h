// How servers of a kind are dealt with, where kinds differ in words and numbers alone. What daemons do
// besides is in instance_daemon.cpp.
//
// Any thread.
#pragma once

#include <string_view>

#include "config/server_config.h"

namespace mcpivot {

struct Manner {
  std::string_view absent;      // the server …
  std::string_view unborn;      // follows how one ended that was not ready yet
  std::string_view comes_back;  // why there is a new generation after one that was lost
  std::string_view unsure;      // of a call that was under way
  int most_tries;               // of a request that does no harm, after the first
};

// A process dies, and is started again by us.
inline constexpr Manner process_manner{.absent = "is not running",
                                       .unborn = " before it was ready",
                                       .comes_back = "after a crash",
                                       .unsure = "It may have taken effect; it was not sent again.",
                                       .most_tries = 1};

// A daemon goes and comes without us. It may be lost bit by bit: a connection, then the next one, then the
// session; what does no harm is sent again for each of them. And it may be there at any moment.
inline constexpr Manner daemon_manner{
    .absent = "is away",
    .unborn = "",
    .comes_back = "connected again",
    .unsure = "Outcome unknown: it may have taken effect; it was not sent again.",
    .most_tries = 5};

inline const Manner& manner_of(const ServerConfig& config) {
  return config.is_daemon() ? daemon_manner : process_manner;
}

}  // namespace mcpivot
