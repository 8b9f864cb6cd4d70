#include "server/timers.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

class ByHand final : public Timers {
 public:
  Time now() const override { return time; }
  Date date() const override { return {}; }
  void pass(std::chrono::milliseconds some) {
    time += some;
    ring_due();
  }
  Time time{};
  std::optional<Time> told;

 private:
  void on_next(Time due) override { told = due; }
};

// Two alarms that are due at the same moment.
struct Two {
  ByHand timers;
  std::optional<Alarm> one{timers}, other{timers};
  int rung = 0;

  void run(const std::function<void()>& first_does) {
    const auto ring = [this, first_does] {
      if (++rung == 1) first_does();
    };
    one->set(1ms, ring);
    other->set(1ms, ring);
    timers.pass(1ms);
  }
};

TEST(Alarm, rings_once_for_each_time_it_is_set) {
  Two two;
  two.run([] {});
  two.timers.pass(1h);
  EXPECT_EQ(two.rung, 2);
  EXPECT_EQ(two.timers.set(), 0U);
}

TEST(Alarm, that_was_cancelled_does_not_ring_even_if_it_was_due) {
  Two two;
  two.run([&] {
    two.one->cancel();
    two.other->cancel();
  });
  EXPECT_EQ(two.rung, 1);
}

TEST(Alarm, that_was_set_again_rings_only_at_the_new_time) {
  Two two;
  two.run([&] {
    two.one->set(1h, [] {});
    two.other->set(1h, [&] { two.rung += 10; });
  });
  EXPECT_EQ(two.rung, 1);
  two.timers.pass(1h);
  EXPECT_EQ(two.rung, 11);
}

TEST(Alarm, that_was_destroyed_does_not_ring_even_if_it_was_due) {
  Two two;
  two.run([&] {
    two.one.reset();
    two.other.reset();
  });
  EXPECT_EQ(two.rung, 1);
}

TEST(Alarm, may_be_destroyed_by_its_handler) {
  ByHand timers;
  std::optional<Alarm> alarm{timers};
  std::string said;
  alarm->set(1ms, [&, words = std::string("still here, and longer than what fits into a small string")] {
    alarm.reset();
    said = words;
  });
  timers.pass(1ms);
  EXPECT_EQ(said, "still here, and longer than what fits into a small string");
}

TEST(Timers, ring_in_order_of_time_then_of_being_set) {
  ByHand timers;
  Alarm a(timers), b(timers), c(timers), d(timers);
  std::string order;
  a.set(3ms, [&] { order += 'a'; });
  b.set(1ms, [&] { order += 'b'; });
  c.set(1ms, [&] { order += 'c'; });
  d.set(2ms, [&] { order += 'd'; });
  EXPECT_EQ(timers.told, timers.time + 1ms);
  timers.pass(5ms);
  EXPECT_EQ(order, "bcda");
}

TEST(Timers, an_alarm_that_sets_itself_again_waits_for_the_next_round) {
  ByHand timers;
  Alarm alarm(timers);
  int rung = 0;
  std::function<void()> again = [&] {
    ++rung;
    alarm.set(0ms, again);
  };
  alarm.set(0ms, again);
  timers.pass(0ms);
  EXPECT_EQ(rung, 1);
  EXPECT_EQ(timers.told, timers.time);
  timers.pass(0ms);
  EXPECT_EQ(rung, 2);
}

TEST(Timers, an_alarm_that_throws_does_not_keep_others_from_ringing) {
  ByHand timers;
  Alarm one(timers), other(timers), later(timers);
  int rung = 0;
  one.set(1ms, [] { throw std::runtime_error("a mistake"); });
  other.set(1ms, [&] { ++rung; });
  later.set(2ms, [&] { ++rung; });
  timers.pass(1ms);
  EXPECT_EQ(rung, 1);
  EXPECT_EQ(timers.told, timers.time + 1ms);
  timers.pass(1ms);
  EXPECT_EQ(rung, 2);
}

TEST(Timers, setting_and_cancelling_repeatedly_uses_no_memory) {
  ByHand timers;
  Alarm alarm(timers);
  Alarm other(timers);
  other.set(1h, [] {});
  for (int i = 0; i < 100'000; ++i) alarm.set(std::chrono::hours(2), [] {});
  EXPECT_EQ(timers.set(), 2U);
  EXPECT_LT(timers.room(), 100U);
  EXPECT_EQ(timers.next(), timers.time + 1h);
}

}  // namespace
}  // namespace mcpivot
