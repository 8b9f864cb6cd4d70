// Says how a generation died, to a model that has to do something about it: what, how, after how long, doing
// what, the telling lines of stderr, and the next step.
//
// Any thread.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_text.h"
#include "config/server_config.h"
#include "server/manner.h"

namespace mcpivot {

struct Death {
  std::string server;
  int generation = 0;
  std::string how;  // "was killed by SIGSEGV"
  std::chrono::milliseconds after{0};
  std::vector<std::string> stderr_lines;   // of this generation
  bool tells_stderr = true;                // else it may tell of other clients' calls
  ControlNames control{};                  // what the model can call next
  const Manner* manner = &process_manner;  // of its kind
  std::string because;                     // why we ended it ourselves; empty: it died on its own
};

// "was killed by SIGSEGV after 45 s"
std::string ending_text(const Death& death);

// "server "dev" (generation 2) was killed by SIGSEGV after 45 s"
std::string headline(const Death& death);

// The telling lines of stderr: the first sign of trouble with what follows it, and the last lines. Empty if
// there are none.
std::string telling_lines(const std::vector<std::string>& lines);

// For the one whose request was lost: `doing` says which, `fate` what became of it.
std::string crash_report(const Death& death, std::string_view doing, std::string_view fate);

}  // namespace mcpivot
