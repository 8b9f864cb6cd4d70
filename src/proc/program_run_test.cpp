#include "proc/program_run.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <memory>
#include <optional>
#include <string_view>

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

}  // namespace
}  // namespace mcpivot
