#include "server/changes.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Clock::Time at(milliseconds time) {
  return Clock::Time(time);
}

void take(Changes& changes, milliseconds time, bool ok = true) {
  changes.end(changes.begin({.reason = "after a change", .since = at(seconds(5)), .saved = true}), ok,
              at(seconds(5) + time));
}

TEST(Changes, the_latest_is_reported_and_each_ends_by_itself) {
  Changes changes;
  EXPECT_EQ(changes.latest(), nullptr);
  const auto first = changes.begin({.reason = "first", .since = at(seconds(1)), .saved = true});
  const auto second = changes.begin({.reason = "second", .since = at(seconds(2)), .saved = false});
  ASSERT_NE(changes.latest(), nullptr);
  EXPECT_EQ(changes.latest()->reason, "second");
  EXPECT_TRUE(changes.saved());
  changes.end(first, true, at(seconds(3)));
  EXPECT_FALSE(changes.saved());
  EXPECT_EQ(changes.latest()->reason, "second");
  changes.end(second, true, at(seconds(3)));
  changes.end(second, true, at(seconds(3)));
  EXPECT_EQ(changes.latest(), nullptr);
}

TEST(Changes, a_call_waits_at_most_twice_the_median_within_bounds) {
  Changes changes;
  EXPECT_EQ(changes.patience(), Changes::longest_wait) << "nothing is known yet";
  take(changes, seconds(3));
  EXPECT_EQ(changes.patience(), seconds(6));
  take(changes, milliseconds(50));
  take(changes, milliseconds(60));
  EXPECT_EQ(changes.patience(), Changes::shortest_wait);
  for (int i = 0; i < 9; ++i) take(changes, seconds(60));
  EXPECT_EQ(changes.patience(), Changes::longest_wait);
}

TEST(Changes, a_change_without_effect_does_not_count_toward_the_median) {
  Changes changes;
  take(changes, seconds(2), false);
  EXPECT_EQ(changes.patience(), Changes::longest_wait);
}

}  // namespace
}  // namespace mcpivot
