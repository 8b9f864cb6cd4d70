#include "server/few_at_once.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

TEST(FewAtOnce, are_allowed_and_more_after_some_time) {
  FewAtOnce few;
  Clock::Time now{};
  for (std::size_t i = 0; i < FewAtOnce::most; ++i) EXPECT_TRUE(few.take(now += 10ms)) << i;
  for (int i = 0; i < 70; ++i) EXPECT_FALSE(few.take(now += 10ms)) << i;
  EXPECT_TRUE(few.take(now += 1s));
}

}  // namespace
}  // namespace mcpivot
