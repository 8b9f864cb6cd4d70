#include "clitools/call_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Calls {
  explicit Calls(std::size_t jobs) : pool(jobs) {}
  CallPool::Ticket enter(int number) {
    return pool.enter(1, [this, number] { started.push_back(number); });
  }
  CallPool pool;
  std::vector<int> started;
};

TEST(CallPool, starts_calls_up_to_its_limit_and_the_rest_in_order) {
  Calls calls(2);
  const auto one = calls.enter(1);
  const auto two = calls.enter(2);
  calls.enter(3);
  const auto four = calls.enter(4);
  calls.enter(5);
  EXPECT_THAT(calls.started, ElementsAre(1, 2));
  calls.pool.leave(two);
  EXPECT_THAT(calls.started, ElementsAre(1, 2, 3));
  calls.pool.leave(four);  // it was only waiting
  EXPECT_THAT(calls.started, ElementsAre(1, 2, 3));
  calls.pool.leave(one);
  EXPECT_THAT(calls.started, ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(calls.pool.running(), 2U);
  EXPECT_EQ(calls.pool.waiting(), 0U);
}

TEST(CallPool, a_higher_limit_starts_waiting_calls) {
  Calls calls(1);
  for (int number = 1; number <= 4; ++number) calls.enter(number);
  EXPECT_THAT(calls.started, ElementsAre(1));
  calls.pool.set_jobs(3);
  EXPECT_THAT(calls.started, ElementsAre(1, 2, 3));
}

TEST(CallPool, starts_nothing_while_held) {
  Calls calls(1);
  calls.pool.hold();
  calls.enter(1);
  EXPECT_THAT(calls.started, IsEmpty());
  calls.pool.resume();
  EXPECT_THAT(calls.started, ElementsAre(1));
}

TEST(CallPool, rejects_calls_when_too_many_or_too_large_ones_wait) {
  Calls calls(1);
  calls.enter(0);
  for (std::size_t i = 0; i < CallPool::most_waiting; ++i) EXPECT_NE(calls.enter(1), 0U);
  EXPECT_EQ(calls.enter(1), 0U);
  CallPool pool(1);
  pool.enter(1, [] {});
  EXPECT_NE(pool.enter(CallPool::most_waiting_bytes, [] {}), 0U);
  EXPECT_EQ(pool.enter(1, [] {}), 0U);
}

TEST(CallPool, a_call_that_ends_as_it_starts_makes_room_for_the_next) {
  CallPool pool(1);
  const auto first = pool.enter(1, [] {});
  CallPool::Ticket second = 0;
  int started = 0;
  second = pool.enter(1, [&] {
    pool.leave(second);
    ++started;
  });
  pool.enter(1, [&] { ++started; });
  pool.leave(first);
  EXPECT_EQ(started, 2);
  EXPECT_EQ(pool.running(), 1U);
}

TEST(CallPool, counts_calls_by_outcome) {
  CallPool pool(0);
  EXPECT_GE(pool.jobs(), 4U);
  pool.count("fast", std::chrono::milliseconds(5), false);
  pool.count("slow", std::chrono::milliseconds(50), true);
  pool.count("fast", std::chrono::milliseconds(6), false);
  EXPECT_EQ(pool.counts().calls, 3U);
  EXPECT_EQ(pool.counts().failures, 1U);
  EXPECT_EQ(pool.counts().slowest_tool, "slow");
}

}  // namespace
}  // namespace mcpivot
