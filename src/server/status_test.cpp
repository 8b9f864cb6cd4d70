#include "server/status.h"

#include <gmock/gmock.h>

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Status status_of(const std::string& state, bool away = false) {
  Status status;
  status.server = "dev";
  status.state = state;
  status.daemon = status.away = away;
  return status;
}

TEST(Status, omits_what_is_zero) {
  Status status = status_of("ready");
  status.life.emplace().generation = 1;
  status.past.starts = 1;
  status.tools = 3;
  EXPECT_THAT(status.text(), AllOf(HasSubstr("starts: 1\n"), HasSubstr("tools: 3\n"), Not(HasSubstr(": 0\n")),
                                   Not(HasSubstr("crashes")), Not(HasSubstr("p50"))));
  status.past.builds = 3;
  EXPECT_THAT(status.text(), HasSubstr("builds: 3\n"));
  status.past.failed_builds = 1;
  EXPECT_THAT(status.text(), HasSubstr("builds: 3 (1 failed)\n"));
}

TEST(Status, of_a_daemon_has_the_age_of_the_session_and_no_uptime) {
  Status status = status_of("ready");
  status.life.emplace().uptime = std::chrono::seconds(7);
  EXPECT_THAT(status.text(), HasSubstr("uptime: 7 s\n"));
  status.daemon = true;
  EXPECT_THAT(status.text(), Not(HasSubstr("uptime")));
}

TEST(Status, shows_how_the_tools_are_used) {
  Status status = status_of("ready");
  status.usage = {.calls = 12, .errors = 1, .p50 = std::chrono::microseconds(430)};
  EXPECT_THAT(status.text(), HasSubstr("calls: 12\nerrors: 1\np50: 0.4 ms\n"));
}

TEST(Status, only_a_daemon_that_cannot_be_reached_is_away) {
  EXPECT_EQ(status_of("failed").condition(), "failed");
  EXPECT_EQ(status_of("failed", true).condition(), "away");
  EXPECT_EQ(status_of("stopped", true).condition(), "stopped");
  EXPECT_EQ(status_of("ready", true).condition(), "ready");
}

}  // namespace
}  // namespace mcpivot
