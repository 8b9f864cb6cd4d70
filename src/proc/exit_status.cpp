#include "proc/exit_status.h"

#include <sys/wait.h>

#include <cstring>

namespace mcpivot {

ExitStatus ExitStatus::from_wait(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status), .core = WCOREDUMP(status) != 0};
  return {.code = WEXITSTATUS(status)};
}

std::string ExitStatus::text() const {
  if (signal == 0) return "exited with code " + std::to_string(code);
  return "was killed by " + signal_name(signal) + (core ? " (core dumped)" : "");
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace mcpivot
