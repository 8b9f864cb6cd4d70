#include "server/crash_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CrashReport, says_what_died_how_and_doing_what) {
  Death death;
  death.server = "dev";
  death.generation = 2;
  death.how = "was killed by SIGSEGV";
  death.after = std::chrono::seconds(45);
  death.stderr_lines = {"hello", "panic: boom", "at x.rs:1"};
  const std::string text =
      crash_report(death, "tools/call of \"x\"", "It may have taken effect; it was not sent again.");
  EXPECT_THAT(text, HasSubstr("server \"dev\" (generation 2) was killed by SIGSEGV after 45 s, while it "
                              "worked on tools/call of \"x\"."));
  EXPECT_THAT(text, HasSubstr("It may have taken effect; it was not sent again."));
  EXPECT_THAT(text, HasSubstr("  panic: boom\n  at x.rs:1"));
  EXPECT_THAT(text, HasSubstr("pivot_logs"));
}

TEST(CrashReport, shows_the_first_trouble_and_the_end_of_a_long_stderr) {
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) lines.push_back("line " + std::to_string(i));
  lines[50] = "thread 'main' panicked at src/lib.rs:7";
  const std::string text = telling_lines(lines);
  EXPECT_THAT(text, HasSubstr("panicked at src/lib.rs:7\n  line 51"));
  EXPECT_THAT(text, HasSubstr("line 199"));
  EXPECT_THAT(text, Not(HasSubstr("line 100")));
  EXPECT_EQ(telling_lines({}), "");
}

TEST(CrashReport, durations_read_well) {
  using std::chrono::milliseconds;
  EXPECT_EQ(duration_text(milliseconds(1834)), "1.8 s");
  EXPECT_EQ(duration_text(milliseconds(45'400)), "45 s");
  EXPECT_EQ(duration_text(milliseconds(600'000)), "10 min");
  EXPECT_EQ(duration_text(milliseconds(9'000'000)), "2 h");
}

}  // namespace
}  // namespace mcpivot
