#include "proc/program_run.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace {

int watches_left = -1;  // -1: as many as the kernel allows

}  // namespace

// In place of the C library's, which it calls.
extern "C" int epoll_ctl(int epoll, int what, int descriptor, epoll_event* event) noexcept {
  if (what == EPOLL_CTL_ADD && watches_left >= 0 && watches_left-- == 0) {
    errno = ENOSPC;
    return -1;
  }
  static const auto real = reinterpret_cast<decltype(&::epoll_ctl)>(::dlsym(RTLD_NEXT, "epoll_ctl"));
  return real(epoll, what, descriptor, event);
}

namespace mcpivot {
namespace {

class Watched final : public ProgramRun {
 public:
  Watched(boost::asio::io_context& loop, Guard& guard) : ProgramRun(loop, guard) {}
  std::optional<Result> result;

 private:
  void on_stdout(std::string_view) override {}
  void on_stderr(std::string_view) override {}
  void on_end(const Result& ended) override { result = ended; }
};

// As when mcpivot was stopped for a while (SIGSTOP, a debugger, a virtual machine that was paused).
TEST(ProgramRun, a_program_that_ended_in_time_is_not_stopped_for_what_its_reader_missed) {
  constexpr std::chrono::milliseconds limit{50};
  boost::asio::io_context loop;
  Guard guard;
  const auto run = std::make_shared<Watched>(loop, guard);
  Command command;
  command.argv = {"/bin/echo", "done"};  // whose end is read in a second step
  run->start({.command = command, .time_limit = limit, .over_limit = "was stopped"});
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  boost::asio::steady_timer(loop, limit).wait();
  while (!run->result && loop.run_one_for(std::chrono::seconds(20)) > 0) continue;
  ASSERT_TRUE(run->result.has_value());
  EXPECT_TRUE(run->result->ok) << run->result->how;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::string our_children() {
  std::string pids;
  std::getline(std::ifstream("/proc/thread-self/children"), pids);
  return pids;
}

// The kernel limits how much can be watched: here its pidfd, its stdin, its stdout or its stderr can't.
TEST(ProgramRun, a_program_that_cannot_be_watched_is_killed_and_leaves_nothing) {
  for (int watchable = 0; watchable < 4; ++watchable) {
    boost::asio::io_context loop;
    Guard guard;
    auto run = std::make_shared<Watched>(loop, guard);
    const std::size_t files = open_files();
    const std::string children = our_children();
    Command command;
    command.argv = {"/bin/sleep", "1000"};
    watches_left = watchable;
    run->start({.command = command, .time_limit = std::chrono::hours(1), .over_limit = "was stopped"});
    watches_left = -1;
    loop.run_for(std::chrono::seconds(20));  // ends when there is nothing left to wait for
    ASSERT_TRUE(run->result.has_value()) << watchable;
    EXPECT_FALSE(run->result->started);
    EXPECT_NE(run->result->how.find("No space left on device"), std::string::npos) << run->result->how;
    run.reset();
    EXPECT_EQ(open_files(), files) << watchable;
    EXPECT_EQ(our_children(), children) << watchable;
  }
}

}  // namespace
}  // namespace mcpivot
