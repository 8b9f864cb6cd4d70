#include "base/duration_text.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

TEST(ShortTime, has_about_two_significant_digits) {
  EXPECT_EQ(short_time_text(42us), "0.04 ms");
  EXPECT_EQ(short_time_text(430us), "0.4 ms");
  EXPECT_EQ(short_time_text(9'940us), "9.9 ms");
  EXPECT_EQ(short_time_text(12'300us), "12 ms");
  EXPECT_EQ(short_time_text(999'600us), "1.0 s");
  EXPECT_EQ(short_time_text(90s), "90 s");
}

}  // namespace
}  // namespace mcpivot
