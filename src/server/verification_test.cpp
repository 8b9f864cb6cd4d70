#include "server/verification.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

Item tool(const std::string& name, const std::string& more) {
  return {name, R"({"name":")" + name + R"(","inputSchema":{})" + more + "}"};
}

TEST(SafeTools, are_those_that_declare_themselves_read_only_and_closed_world) {
  const SafeTools safe({});
  EXPECT_TRUE(safe.has(tool("t", R"(,"annotations":{"readOnlyHint":true,"openWorldHint":false})")));
  for (const char* annotations : {"", R"(,"annotations":{})", R"(,"annotations":{"readOnlyHint":true})",
                                  R"(,"annotations":{"openWorldHint":false})",
                                  R"(,"annotations":{"readOnlyHint":true,"openWorldHint":true})",
                                  R"(,"annotations":{"readOnlyHint":false,"openWorldHint":false})",
                                  R"(,"annotations":{"readOnlyHint":"true","openWorldHint":false})",
                                  R"(,"annotations":{"idempotentHint":true,"openWorldHint":false})"})
    EXPECT_FALSE(safe.has(tool("t", annotations))) << annotations;
}

TEST(SafeTools, include_those_that_the_user_listed) {
  const SafeTools safe({"read_*", "status"});
  EXPECT_TRUE(safe.has(tool("read_file", "")));
  EXPECT_TRUE(safe.has(tool("status", "")));
  EXPECT_FALSE(safe.has(tool("write_file", "")));
  EXPECT_FALSE(safe.has(tool("read_task", R"(,"execution":{"taskSupport":"required"})")))
      << "its answer would be a task";
}

CheckReport::Difference difference(const std::string& before, const std::string& after) {
  const Answer old{.is_error = false, .json = before};
  const Answer now{.is_error = false, .json = after};
  return {.call = {.tool = "search", .arguments = R"({"query":"x"})", .answer = old},
          .now = now,
          .diff = compare_answers(old, now)};
}

TEST(CheckReport, says_how_many_calls_agree_and_lists_differences) {
  CheckReport report{.same = 12, .budget = std::chrono::seconds(2)};
  EXPECT_EQ(report.text(true), "12 of 12 recorded calls answer the same.");
  report.differ.push_back(difference(R"({"a":1,"b":1})", R"({"a":2,"b":2})"));
  EXPECT_EQ(report.text(true),
            "12 of 13 recorded calls answer the same, 1 differs.\n"
            "  search {\"query\":\"x\"}: a: 1 → 2 (and 1 more)");
  report.late = 3;
  for (int i = 0; i < 4; ++i) report.differ.push_back(difference(R"({"a":1})", R"({"a":2})"));
  EXPECT_EQ(report.text(true),
            "12 of 17 recorded calls answer the same, 5 differ; 3 not checked (no answer within 2 s).\n"
            "  search {\"query\":\"x\"}: a: 1 → 2 (and 1 more)\n"
            "  search {\"query\":\"x\"}: a: 1 → 2\n"
            "  search {\"query\":\"x\"}: a: 1 → 2\n"
            "  and 2 more");
}

TEST(CheckReport, names_only_tools_and_paths_if_another_client_recorded_the_calls) {
  CheckReport report;
  report.differ.push_back(difference(R"({"secret":"a"})", R"({"secret":"b"})"));
  report.differ.push_back({.call = {.tool = "gone", .arguments = R"({"of":"another"})"}});
  EXPECT_EQ(report.text(false),
            "0 of 2 recorded calls answer the same, 2 differ.\n  search: secret\n  gone: the tool is gone");
}

TEST(CheckReport, says_why_nothing_was_checked) {
  EXPECT_EQ(
      CheckReport{.unsafe = 4}.text(true),
      "No recorded call is safe to repeat, so none was checked. List the tools that are safe to repeat in "
      "\"replay_safe\".");
  EXPECT_EQ(CheckReport{.trouble = "calls.json cannot be read"}.text(true),
            "No recorded calls were checked: calls.json cannot be read.");
  EXPECT_EQ((CheckReport{.late = 2, .budget = std::chrono::seconds(2)}).text(true),
            "Recorded calls: 2 not checked (no answer within 2 s).");
}

TEST(CheckedCall, has_one_key_for_all_json_spellings) {
  const CheckedCall one{.tool = "t", .arguments = R"({"a":1,"b":2})"};
  const CheckedCall other{.tool = "t", .arguments = R"({ "b": 2.0, "a": 1 })"};
  EXPECT_EQ(one.key(), other.key());
  EXPECT_EQ(CheckedCall{.tool = "t"}.key(), (CheckedCall{.tool = "t", .arguments = "{}"}).key());
  EXPECT_NE(one.key(), (CheckedCall{.tool = "u", .arguments = one.arguments}).key());
}

TEST(AcceptedAnswers, apply_until_a_newer_answer_is_recorded) {
  using Time = std::chrono::system_clock::time_point;
  AcceptedAnswers accepted;
  accepted.add("k", {.is_error = false, .json = "1"}, Time(std::chrono::seconds(10)));
  ASSERT_NE(accepted.find("k", Time(std::chrono::seconds(5))), nullptr);
  EXPECT_EQ(accepted.find("k", Time(std::chrono::seconds(5)))->json, "1");
  EXPECT_EQ(accepted.find("k", Time(std::chrono::seconds(11))), nullptr);
  EXPECT_EQ(accepted.find("other", {}), nullptr);
}

}  // namespace
}  // namespace mcpivot
