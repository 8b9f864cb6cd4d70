#include "cli/client_table.h"

#include <gmock/gmock.h>

#include <sstream>

#include "cli/colours.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json::object client(const std::string& name, const std::string& profile, const std::string& program) {
  return {{"name", name},
          {"profile", profile},
          {"session", "1f3a9c02d4"},
          {"era", "legacy"},
          {"version", "2025-11-25"},
          {"program", program},
          {"ageMs", 3'600'000},
          {"idleMs", 90'000},
          {"calls", 12345},
          {"underWay", 12},
          {"streams", 3}};
}

json::object status(json::array clients, std::size_t all) {
  return {{"clients", std::move(clients)},
          {"totals", {{"clients", all}, {"calls", 12345}, {"underWay", 12}, {"streams", 3}}}};
}

void expect_width(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), width) << line;
}

TEST(ClientTable, fits_all_important_columns_into_80_characters) {
  const std::string table =
      client_table(status({client("alice", "", "claude-code 2.1.0")}, 1), std::optional<std::size_t>(80));
  expect_width(table, 80);
  EXPECT_THAT(table, AllOf(HasSubstr("1 client, 12345 calls made, 12 under way, 3 streams open"),
                           HasSubstr("alice"), HasSubstr("legacy 2025-11-25"), HasSubstr("claude"),
                           HasSubstr("60 min"), HasSubstr("90 s"), HasSubstr("STREAMS")));
  const std::string long_names =
      client_table(status({client(std::string(70, 'a'), std::string(70, 'b'), std::string(60, 'c'))}, 1000),
                   std::optional<std::size_t>(80));
  expect_width(long_names, 80);
  EXPECT_THAT(long_names,
              AllOf(HasSubstr("legacy 2025-11-25"), HasSubstr("12345"), HasSubstr("and 999 more")));
}

TEST(ClientTable, shows_sessions_and_profiles_if_there_is_room) {
  const std::string with = client_table(status({client("alice", "work", "x")}, 1), std::nullopt);
  EXPECT_THAT(with, AllOf(HasSubstr("1f3a9c02d4"), HasSubstr("PROFILE"), HasSubstr("work")));
  const std::string without = client_table(status({client("alice", "", "x")}, 1), std::nullopt);
  EXPECT_THAT(without, Not(HasSubstr("PROFILE")));
}

TEST(ClientTable, what_is_younger_than_a_second_is_shown_as_that) {
  json::object young = client("alice", "", "x");
  young["ageMs"] = 999;
  EXPECT_THAT(client_table(status({young}, 1), std::nullopt),
              AllOf(HasSubstr("<1 s"), Not(HasSubstr("0 ms"))));
}

TEST(ClientTable, is_empty_for_an_mcpivot_with_one_client) {
  EXPECT_EQ(client_table({{"servers", json::array()}}, std::nullopt), "");
}

TEST(SessionTable, fits_into_80_columns_and_marks_live_sessions) {
  json::array sessions;
  for (const bool live : {true, false})
    sessions.push_back({{"id", "1f3a9c02d4"},
                        {"name", std::string(40, 'a')},
                        {"profile", ""},
                        {"program", std::string(60, 'p')},
                        {"live", live},
                        {"ageMs", 1000},
                        {"idleMs", 1000}});
  const std::string table =
      session_table({{"sessions", sessions}, {"leftOut", 7}}, std::optional<std::size_t>(80));
  expect_width(table, 80);
  EXPECT_THAT(
      table, AllOf(HasSubstr("1f3a9c02d4"), HasSubstr("live"), HasSubstr("stored"), HasSubstr("and 7 more")));
  EXPECT_EQ(session_table({{"sessions", json::array()}, {"leftOut", 0}}, std::nullopt), "no sessions\n");
}

}  // namespace
}  // namespace mcpivot
