#include "server/connection_record.h"

#include <gtest/gtest.h>

#include <map>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

class ClockByHand final : public Clock {
 public:
  Time now() const override { return time; }
  Date date() const override { return {}; }
  Time time{};
};

class Connection : public testing::Test {
 protected:
  std::map<std::string, std::string> described() {
    std::map<std::string, std::string> lines;
    record.describe([&](std::string_view key, const std::string& value) { lines.emplace(key, value); });
    return lines;
  }
  ClockByHand clock;
  ConnectionRecord record{clock};
};

TEST_F(Connection, to_a_daemon_that_never_ran_reports_no_absence) {
  clock.time += 3s;
  record.failed("it could not be reached");
  EXPECT_EQ(record.away(), 3s);
  EXPECT_FALSE(record.made().absence);
  EXPECT_EQ(record.away(), 0s);
}

TEST_F(Connection, restored_after_a_loss_reports_its_duration_and_cause) {
  record.made();
  record.lost("closed the connection");
  clock.time += 5s;
  record.failed("it could not be reached");
  clock.time += 5s;
  const auto arrival = record.made();
  ASSERT_TRUE(arrival.absence);
  EXPECT_EQ(arrival.absence->length, 10s) << "a failed attempt isn't the beginning";
  EXPECT_EQ(arrival.absence->why, "closed the connection");
  EXPECT_FALSE(arrival.forgotten);
  EXPECT_EQ(described().at("reconnects"), "1");
}

TEST_F(Connection, forgotten_by_the_daemon_was_never_away) {
  record.made();
  record.forgotten();
  clock.time += 1s;
  EXPECT_EQ(record.away(), 0s);
  const auto arrival = record.made();
  EXPECT_TRUE(arrival.forgotten);
  EXPECT_FALSE(arrival.absence);
}

TEST_F(Connection, refused_by_the_daemon_is_shown_as_refused_until_the_daemon_is_away) {
  record.refused("401 Unauthorized");
  clock.time += 2s;
  EXPECT_EQ(described().at("connection"), "refused by the server 2 s ago");
  EXPECT_EQ(described().at("last error"), "401 Unauthorized (2 s ago)");
  record.failed("it could not be reached");
  EXPECT_EQ(described().at("connection"), "away for 2 s");
}

}  // namespace
}  // namespace mcpivot
