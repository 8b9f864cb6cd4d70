#include "proc/guard.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "proc/end_now.h"

namespace mcpivot {
namespace {

// The guard's main loop. A message is a process group to watch, or the negative of one to forget.
[[noreturn]] void stand_guard(int pipe) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "mcpivot-guard");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::dup2(pipe, 0);
  ::close_range(1, ~0U, 0);
  std::vector<pid_t> groups;
  while (true) {
    pid_t message = 0;
    const ssize_t got = ::read(0, &message, sizeof(message));
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(message)) break;
    if (message > 0) {
      groups.push_back(message);
    } else {
      std::erase(groups, -message);
    }
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  end_now(0);
}

}  // namespace

bool Guard::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pid_ = ::fork();
  if (pid_ == 0) stand_guard(ends[0]);
  ::close(ends[0]);
  if (pid_ < 0) {
    ::close(ends[1]);
    return false;
  }
  ::setpgid(pid_, pid_);  // also here: it may not have run yet when somebody kills our group
  pipe_ = ends[1];
  return true;
}

Guard::~Guard() {
  if (pipe_ < 0) return;
  ::close(pipe_);
  ::waitpid(pid_, nullptr, 0);
}

// Smaller than PIPE_BUF, so written whole or not at all; the guard always reads, so this doesn't block.
void Guard::tell(pid_t message) const {
  if (pipe_ < 0) return;
  while (::write(pipe_, &message, sizeof(message)) < 0 && errno == EINTR) {
  }
}

}  // namespace mcpivot
