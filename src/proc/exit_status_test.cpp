#include "proc/exit_status.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(ExitStatus, is_described_in_words) {
  EXPECT_EQ((ExitStatus{.code = 3}).text(), "exited with code 3");
  EXPECT_EQ((ExitStatus{.signal = 11}).text(), "was killed by SIGSEGV");
  EXPECT_EQ((ExitStatus{.signal = 6, .core = true}).text(), "was killed by SIGABRT (core dumped)");
}

}  // namespace
}  // namespace mcpivot
