#include "proc/stderr_ring.h"

#include <gtest/gtest.h>

#include "proc/exit_status.h"

namespace mcpivot {
namespace {

TEST(StderrRing, puts_lines_together_from_pieces) {
  StderrRing ring;
  ring.feed("one\ntw");
  ring.feed("o\r\nthr");
  ring.add("[stdout] garbage");
  EXPECT_EQ(ring.lines(), (std::deque<std::string>{"one", "two", "thr", "[stdout] garbage"}));
}

TEST(StderrRing, keeps_the_last_thousand_lines_and_cuts_long_ones) {
  StderrRing ring;
  for (int i = 0; i < 2'500; ++i) ring.feed(std::to_string(i) + "\n");
  EXPECT_EQ(ring.lines().size(), 1'000U);
  EXPECT_EQ(ring.lines().front(), "1500");
  EXPECT_EQ(ring.total(), 2'500U);
  for (int i = 0; i < 1'000; ++i) ring.feed(std::string(10'000, 'x'));
  ring.feed("\n");
  EXPECT_LT(ring.lines().back().size(), 4'200U);
  EXPECT_NE(ring.lines().back().find("cut"), std::string::npos);
}

TEST(ExitStatus, is_told_in_words) {
  EXPECT_EQ((ExitStatus{.code = 3}).text(), "exited with code 3");
  EXPECT_EQ((ExitStatus{.signal = 11}).text(), "was killed by SIGSEGV");
  EXPECT_EQ((ExitStatus{.signal = 6, .core = true}).text(), "was killed by SIGABRT (core dumped)");
}

}  // namespace
}  // namespace mcpivot
