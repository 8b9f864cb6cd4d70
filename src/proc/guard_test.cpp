#include "proc/guard.h"

#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mcpivot {
namespace {

// A process with a guard, both hit by a kill of the whole group, and a ward that would live forever and keeps
// `alive` open while it does.
[[noreturn]] void live_guarded(int alive) {
  ::setpgid(0, 0);
  Guard guard;
  if (!guard.start()) ::_exit(1);
  const pid_t ward = ::fork();
  if (ward == 0) {
    ::dup2(alive, 0);
    ::close_range(1, ~0U, 0);
    while (true) ::pause();
  }
  ::setpgid(ward, ward);
  guard.watch(ward);
  ::close(alive);
  ::kill(0, SIGKILL);
  ::_exit(1);
}

// The first moments of a guard: it may not have run at all.
TEST(Guard, outlives_a_kill_of_the_whole_group_right_after_its_start) {
  for (int i = 0; i < 20; ++i) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t guarded = ::fork();
    if (guarded == 0) {
      ::close(ends[0]);
      live_guarded(ends[1]);
    }
    ::close(ends[1]);
    int status = 0;
    ASSERT_EQ(::waitpid(guarded, &status, 0), guarded);
    EXPECT_TRUE(WIFSIGNALED(status));
    pollfd alive{.fd = ends[0], .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&alive, 1, 10'000), 1) << "the ward is still there";
    ::close(ends[0]);
  }
}

}  // namespace
}  // namespace mcpivot
