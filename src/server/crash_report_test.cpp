#include "server/crash_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CrashReport, says_what_died_how_and_during_which_call) {
  Death death;
  death.server = "dev";
  death.generation = 2;
  death.how = "was killed by SIGSEGV";
  death.after = std::chrono::seconds(45);
  death.stderr_lines = {"hello", "panic: boom", "at x.rs:1"};
  const std::string text = crash_report(death, "running the tool \"x\"", Fate{});
  EXPECT_THAT(
      text, HasSubstr("[mcpivot] \"dev\" (generation 2) was killed by SIGSEGV after 45 s, while running the "
                      "tool \"x\"."));
  EXPECT_THAT(text, HasSubstr("The call may have taken effect; mcpivot did not retry it."));
  EXPECT_THAT(text, HasSubstr("  panic: boom\n  at x.rs:1"));
  EXPECT_THAT(text, HasSubstr("pivot_logs"));
}

TEST(CrashReport, the_recommended_next_step_works_with_this_server) {
  using Saving = NextStep::Saving;
  EXPECT_EQ(next_line({.on_save = Saving::rebuilds}),
            "Next: fix the cause; saving rebuilds it. pivot_logs shows all of its stderr.");
  EXPECT_EQ(next_line({.on_save = Saving::restarts}),
            "Next: fix the cause; saving restarts it. pivot_logs shows all of its stderr.");
  EXPECT_EQ(next_line({}),
            "Next: fix the cause, then call pivot_rebuild. pivot_logs shows all of its stderr.");
  NextStep next;
  next.control = {.rebuild = {}, .restart = "pivot_restart", .status = {}, .logs = {}};
  EXPECT_EQ(next_line(next), "Next: fix the cause, then call pivot_restart.");
  next.on_save = Saving::restarts_with_binary;
  EXPECT_EQ(next_line(next), "Next: fix the cause; mcpivot restarts it when its binary changes.");
  next = {.control = {.rebuild = {}, .restart = {}, .status = {}, .logs = {}}};
  EXPECT_EQ(next_line(next), "Next: fix the cause.");
}

TEST(CrashReport, a_server_killed_from_outside_needs_no_fix) {
  Death death;
  death.how = "was killed by SIGTERM";
  death.from_outside = true;
  const std::string text = crash_report(death);
  EXPECT_THAT(text, HasSubstr("It is restarting. The signal came from outside the server, so there is "
                              "nothing to fix in it."));
  EXPECT_THAT(text, Not(HasSubstr("Next:")));
}

TEST(CrashReport, says_that_a_call_that_never_reached_a_daemon_can_be_repeated) {
  Death death;
  death.traits = &daemon_traits;
  EXPECT_THAT(crash_report(death, {}, Fate{.reached = false}), HasSubstr("Next: repeat the call."));
  EXPECT_THAT(crash_report(death, {}, Fate{}),
              HasSubstr("Next: check whether the call took effect before you repeat it."));
}

TEST(CrashReport, says_whether_the_call_was_retried) {
  Death death;
  death.traits = &daemon_traits;
  EXPECT_THAT(crash_report(death, {}, Fate{.retries = 1}),
              HasSubstr("may have taken effect; mcpivot retried it once and will not retry it again."));
  EXPECT_THAT(crash_report(death, {}, Fate{.reached = false, .retries = 5}),
              HasSubstr("The call never reached the server and had no effect."));
  EXPECT_THAT(crash_report(death, {}, Fate{.again = 3}),
              HasSubstr("\n3 requests in flight were safe to repeat, so mcpivot retried them.\n"));
}

TEST(CrashReport, shows_the_first_error_and_the_end_of_a_long_stderr) {
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) lines.push_back("line " + std::to_string(i));
  lines[50] = "thread 'main' panicked at src/lib.rs:7";
  const std::string text = telling_lines(lines);
  EXPECT_THAT(text, HasSubstr("panicked at src/lib.rs:7\n  line 51"));
  EXPECT_THAT(text, HasSubstr("line 199"));
  EXPECT_THAT(text, Not(HasSubstr("line 100")));
  EXPECT_EQ(telling_lines({}), "");
}

TEST(CrashReport, shows_only_the_beginning_of_each_long_line) {
  const std::string text =
      telling_lines({"error at a" + std::string(600, 'x'), "é" + std::string(498, 'y') + "é"});
  EXPECT_EQ(text, "stderr, last lines:\n  error at a" + std::string(490, 'x') + "…\n  é" +
                      std::string(498, 'y') + "…\n");
}

TEST(CrashReport, formats_durations_for_people) {
  using std::chrono::milliseconds;
  EXPECT_EQ(duration_text(milliseconds(0)), "0 ms");
  EXPECT_EQ(duration_text(milliseconds(3)), "3 ms");
  EXPECT_EQ(duration_text(milliseconds(999)), "999 ms");
  EXPECT_EQ(duration_text(milliseconds(1000)), "1 s");
  EXPECT_EQ(duration_text(milliseconds(1834)), "1.8 s");
  EXPECT_EQ(duration_text(milliseconds(45'400)), "45 s");
  EXPECT_EQ(duration_text(milliseconds(600'000)), "10 min");
  EXPECT_EQ(duration_text(milliseconds(9'000'000)), "2 h");
}

}  // namespace
}  // namespace mcpivot
