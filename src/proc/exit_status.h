// How a process ended, in words: "was killed by SIGSEGV (core dumped)", "exited with code 3".
//
// Plain data; any thread.
#pragma once

#include <string>

namespace mcpivot {

struct ExitStatus {
  int code = 0;    // if signal is 0
  int signal = 0;  // which signal killed it
  bool core = false;

  static ExitStatus from_wait(int status);
  std::string text() const;
};

// "SIGSEGV"; a number for signals without a name.
std::string signal_name(int signal);

}  // namespace mcpivot
