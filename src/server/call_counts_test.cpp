#include "server/call_counts.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

// Within the promised accuracy.
void expect_median(const CallCounts& counts, std::chrono::nanoseconds expected) {
  ASSERT_TRUE(counts.median());
  const double ratio = std::chrono::duration<double>(*counts.median()) / expected;
  EXPECT_NEAR(ratio, 1, 0.13) << expected.count() << " ns";
}

TEST(CallCounts, count_calls_and_every_kind_of_failure) {
  CallCounts counts;
  counts.answered(false);
  counts.answered(true);
  counts.failed();
  EXPECT_EQ(counts.calls(), 3U);
  EXPECT_EQ(counts.errors(), 2U);
}

TEST(CallCounts, have_no_median_before_the_first_answer) {
  CallCounts counts;
  EXPECT_FALSE(counts.median());
  counts.failed();
  EXPECT_FALSE(counts.median()) << "how long would it have taken?";
}

TEST(CallCounts, know_the_median_of_short_and_of_long_calls) {
  for (const std::chrono::nanoseconds took : {3'000ns, 47'000ns, 480'000ns, 1'999'000ns, 70'000'000ns}) {
    CallCounts counts;
    for (int i = 0; i < 5; ++i) counts.took(took);
    expect_median(counts, took);
  }
  CallCounts counts;
  for (const auto took : {10ms, 20ms, 30ms, 40ms, 5000ms}) counts.took(took);
  expect_median(counts, 30ms);
}

TEST(CallCounts, accept_any_duration) {
  CallCounts counts;
  for (int i = 0; i < 3; ++i) counts.took(-5ms);
  EXPECT_LE(*counts.median(), 2us);
  for (int i = 0; i < 9; ++i) counts.took(240h);
  EXPECT_GE(*counts.median(), 1h);
}

TEST(CallCounts, forget_old_durations_but_not_old_counts) {
  CallCounts counts;
  const auto call = [&](std::chrono::milliseconds time) {
    counts.answered(false);
    counts.took(time);
  };
  for (int i = 0; i < 100'000; ++i) call(50ms);
  for (int i = 0; i < 2'000; ++i) call(1ms);
  expect_median(counts, 1ms);
  EXPECT_EQ(counts.calls(), 102'000U);
}

TEST(CallCounts, of_several_instances_add_up_for_their_server) {
  CallCounts server;
  for (int instance = 0; instance < 50; ++instance) {
    CallCounts counts;
    for (int i = 0; i < 500; ++i) {
      counts.answered(i % 10 == 0);
      counts.took(20ms);
    }
    server.add(counts);
  }
  EXPECT_EQ(server.calls(), 25'000U);
  EXPECT_EQ(server.errors(), 2'500U);
  expect_median(server, 20ms);
}

}  // namespace
}  // namespace mcpivot
