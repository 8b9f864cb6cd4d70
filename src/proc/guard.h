// Keeps the promise of no orphans even when mcpivot is killed with SIGKILL and can't clean up itself.
//
// The guard is a small forked process that holds the reading end of a pipe from us. It is told which process
// groups are ours; when the pipe breaks, because we are gone for whatever reason, it kills them. It is in a
// process group of its own, so a signal to ours doesn't reach it.
//
// PDEATHSIG, which children also set, reaches neither grandchildren nor programs that ignore polite signals.
//
// One thread. start() before any other thread exists.
#pragma once

#include <sys/types.h>

namespace mcpivot {

class Guard {
 public:
  Guard() = default;
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Forks the guard. Without one (the system may refuse), servers still run, and only SIGKILL leaves orphans.
  bool start();

  void watch(pid_t group) { tell(group); }
  void forget(pid_t group) { tell(-group); }

 private:
  void tell(pid_t message) const;

  int pipe_ = -1;
  pid_t pid_ = -1;
};

}  // namespace mcpivot
