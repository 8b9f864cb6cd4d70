#include "server/alarm.h"

#include <gtest/gtest.h>

#include <optional>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

// Two alarms that are due at the same moment: both handlers are under way when the first rings.
struct Two {
  boost::asio::io_context loop;
  std::optional<Alarm> one{loop}, other{loop};
  int rung = 0;

  void run(const std::function<void()>& first_does) {
    const auto ring = [this, first_does] {
      if (++rung == 1) first_does();
    };
    const auto now = std::chrono::steady_clock::now();
    one->set(now, ring);
    other->set(now, ring);
    loop.run_for(50ms);
  }
};

TEST(Alarm, rings_once_for_each_time_it_is_set) {
  Two two;
  two.run([] {});
  EXPECT_EQ(two.rung, 2);
}

TEST(Alarm, that_was_cancelled_does_not_ring_though_it_was_due) {
  Two two;
  two.run([&] {
    two.one->cancel();
    two.other->cancel();
  });
  EXPECT_EQ(two.rung, 1);
}

TEST(Alarm, that_was_set_again_rings_at_the_later_time_alone) {
  Two two;
  two.run([&] {
    two.one->set(1h, [] {});
    two.other->set(1h, [] {});
  });
  EXPECT_EQ(two.rung, 1);
}

TEST(Alarm, that_is_gone_does_not_ring_though_it_was_due) {
  Two two;
  two.run([&] {
    two.one.reset();
    two.other.reset();
  });
  EXPECT_EQ(two.rung, 1);
}

}  // namespace
}  // namespace mcpivot
