// Tells a model how a generation died and what to do about it: what died, how, after how long, while doing
// what, the relevant lines of stderr, and the next step.
//
// Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_text.h"
#include "config/server_config.h"
#include "server/kind_traits.h"

namespace mcpivot {

// What to do once the cause is fixed.
struct NextStep {
  enum class Saving : std::uint8_t {
    nothing,
    rebuilds,
    restarts,
    restarts_with_binary  // when its binary changes, which somebody else builds
  };
  Saving on_save = Saving::nothing;
  ControlNames control{};  // what the model can call
};
// "Next: fix the cause; saving rebuilds it. pivot_logs shows all of its stderr."
std::string next_line(const NextStep& next);

struct Death {
  std::string server;
  int generation = 0;
  std::string how;  // "was killed by SIGSEGV"
  std::chrono::milliseconds after{0};
  bool from_outside = false;              // another program killed it
  std::vector<std::string> stderr_lines;  // of this generation
  bool tells_stderr = true;               // false: stderr may be about other clients' calls
  NextStep next{};
  int successor = 0;                           // the generation that already serves; 0: it is being restarted
  const KindTraits* traits = &process_traits;  // of its kind
  std::string because;                         // why we ended it ourselves; empty: we didn't
};

// "was killed by SIGSEGV after 45 s"
std::string ending_text(const Death& death);

// ""dev" (generation 2) was killed by SIGSEGV after 45 s"
std::string headline(const Death& death);

// The relevant lines of stderr: the first sign of trouble with what follows it, and the last lines. Empty if
// there are none.
std::string telling_lines(const std::vector<std::string>& lines);

// What became of requests in flight.
struct Fate {
  bool reached = true;    // the server, this time or before
  int retries = 0;        // before this
  std::size_t again = 0;  // how many are being retried now; 0: it is lost
};

// `doing` says what the server was doing ("running the tool "x""), if the reader may know.
std::string crash_report(const Death& death, std::string_view doing = {}, std::optional<Fate> fate = {});

}  // namespace mcpivot
