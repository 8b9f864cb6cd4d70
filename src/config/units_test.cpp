#include "config/units.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

TEST(Units, durations) {
  EXPECT_EQ(parse_duration("90"), 90s);
  EXPECT_EQ(parse_duration("0"), 0s);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("200ms"), 200ms);
  EXPECT_EQ(parse_duration("10m"), 10min);
  EXPECT_EQ(parse_duration("10 min"), 10min);
  EXPECT_EQ(parse_duration("1h"), 1h);
  EXPECT_EQ(parse_duration("2e1"), 20s);
  for (const char* wrong : {"", "s", "-1", "10 sec", "10d", "1h30m", "inf", "nan", "1e99h", "10  s", " 1"})
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
}

TEST(Units, sizes) {
  EXPECT_EQ(parse_bytes("1024"), 1024U);
  EXPECT_EQ(parse_bytes("8MB"), 8'000'000U);
  EXPECT_EQ(parse_bytes("8m"), 8'000'000U);
  EXPECT_EQ(parse_bytes("1.5 MiB"), 1'572'864U);
  EXPECT_EQ(parse_bytes("2kib"), 2048U);
  EXPECT_EQ(parse_bytes("1 GB"), 1'000'000'000U);
  EXPECT_EQ(parse_bytes("7B"), 7U);
  for (const char* wrong : {"", "MB", "-1", "1TB", "1e99", "1 bytes", "inf"})
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

TEST(Units, replay_rules) {
  EXPECT_EQ(parse_replay_rule("connect")->tool, "connect");
  const auto rule = parse_replay_rule("device:action=use:1=2");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->tool, "device");
  EXPECT_EQ(rule->key, "action");
  EXPECT_EQ(rule->value, "use:1=2");
  for (const char* wrong : {"", ":a=b", "tool:", "tool:a", "tool:=b"})
    EXPECT_FALSE(parse_replay_rule(wrong)) << wrong;
}

}  // namespace
}  // namespace mcpivot
