#include "server/process_supervisor.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

Death death() {
  Death death;
  death.how = "was killed by SIGSEGV";
  death.after = 45s;
  return death;
}

TEST(ProcessSupervisor, a_server_that_dies_young_is_delayed_from_the_second_time_on) {
  const ProcessSupervisor supervisor;
  EXPECT_EQ(supervisor.back_off(0, false), 0ms);
  EXPECT_EQ(supervisor.back_off(1, false), 0ms);
  EXPECT_EQ(supervisor.back_off(2, false), 100ms);
  EXPECT_EQ(supervisor.back_off(3, true), 200ms);
  EXPECT_EQ(supervisor.back_off(100, true), 30'000ms);
}

TEST(ProcessSupervisor, a_death_is_a_crash_even_if_caused_from_outside) {
  ProcessSupervisor supervisor;
  const auto own = supervisor.on_lost(death(), {.how = death().how});
  EXPECT_EQ(own.fault, Supervisor::Loss::Fault::its_own);
  EXPECT_TRUE(own.crash);
  EXPECT_EQ(own.words, "it was killed by SIGSEGV after 45 s and is restarting");
  const auto other = supervisor.on_lost(death(), {.how = death().how, .from_outside = true});
  EXPECT_EQ(other.fault, Supervisor::Loss::Fault::outside);
  EXPECT_TRUE(other.crash);
}

TEST(ProcessSupervisor, a_process_can_always_be_stopped_and_its_end_is_waited_for) {
  EXPECT_FALSE(ProcessSupervisor().on_stop_wanted()->at_once);
}

}  // namespace
}  // namespace mcpivot
