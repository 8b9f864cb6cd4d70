#include "server/birth_report.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

NewGeneration generation() {
  return {.server = "dev",
          .number = 2,
          .where = "pid 4242",
          .did = "restarted",
          .took = 1'834ms,
          .reason = "after a crash",
          .absence = {},
          .reloaded = false,
          .memory_gone = true};
}

BirthNews news() {
  return {.headline = "headline",
          .diff = {},
          .was_guess = false,
          .program = {},
          .failed_replays = {},
          .no_tools = {}};
}

TEST(BirthReport, a_headline_says_which_generation_serves_and_why) {
  EXPECT_EQ(generation_headline(generation()),
            "[mcpivot] \"dev\" restarted: generation 2, pid 4242, ready in 1.8 s (after a crash). "
            "Anything it held in memory is gone.");
  NewGeneration first = generation();
  first.memory_gone = false;
  EXPECT_TRUE(generation_headline(first).ends_with("(after a crash)."));
}

TEST(BirthReport, a_headline_of_a_session_says_how_long_the_daemon_was_away) {
  NewGeneration session = generation();
  session.where = "http://127.0.0.1:8080/mcp";
  EXPECT_EQ(session_headline(session, true),
            "[mcpivot] \"dev\": session 2 with http://127.0.0.1:8080/mcp, ready in 1.8 s (after a crash).");
  session.absence = {.length = 45s, .why = "closed the connection"};
  EXPECT_EQ(session_headline(session, false),
            "[mcpivot] \"dev\" is back after 45 s: http://127.0.0.1:8080/mcp (it closed the connection).");
}

TEST(BirthReport, the_reload_of_a_daemon_says_whether_it_was_restarted) {
  NewGeneration session = generation();
  session.reloaded = true;
  EXPECT_TRUE(
      session_headline(session, true)
          .ends_with("(after a crash). The daemon was restarted. Anything it held in memory is gone."));
  EXPECT_TRUE(
      session_headline(session, false).ends_with("(after a crash). The daemon itself was not restarted."));
}

TEST(BirthReport, a_replaced_program_is_named_with_its_version_if_that_differs) {
  const NewProgram same{.file = "dev, 1 MB", .is_binary = true, .version_before = "1", .version = "1"};
  const NewProgram other{.file = "dev, 1 MB", .is_binary = true, .version_before = "1", .version = "2"};
  EXPECT_EQ(binary_line(same), "\nbinary: dev, 1 MB");
  EXPECT_EQ(binary_line(other), "\nbinary: dev, 1 MB; version 1 → 2");
  EXPECT_EQ(binary_line({.file = "dev.py", .is_binary = false, .version_before = {}, .version = {}}),
            "\nfile: dev.py");
  EXPECT_EQ(version_line(other), "\nversion 1 → 2");
}

TEST(BirthReport, omits_what_is_not_of_interest) {
  EXPECT_EQ(birth_report(news()), "headline");
}

TEST(BirthReport, says_what_changed_or_that_nothing_did) {
  BirthNews told = news();
  told.was_guess = true;
  told.diff = "";
  EXPECT_EQ(birth_report(told), "headline\ntools, prompts and resources: unchanged.");
  told.diff = "tools: +a.";
  EXPECT_EQ(birth_report(told), "headline\ncompared with its last run: tools: +a.");
  told.was_guess = false;
  EXPECT_EQ(birth_report(told), "headline\ntools: +a.");
}

TEST(BirthReport, has_one_line_for_each_problem) {
  BirthNews told = news();
  told.program = "\nbinary: dev";
  told.failed_replays = {"open a", "open b"};
  told.no_tools = "out of cheese";
  EXPECT_EQ(birth_report(told),
            "headline\nbinary: dev\nnot replayed: open a.\nnot replayed: open b.\n"
            "It has no tools: out of cheese.");
}

TEST(BirthReport, a_failure_says_what_still_serves_and_what_to_do_next) {
  EXPECT_EQ(failure_report("dev", "failed to start", "it exited", {}, {}),
            "[mcpivot] \"dev\" failed to start: it exited");
  EXPECT_EQ(
      failure_report("dev", {}, "it exited\nstderr:\n", 3, "Next: fix the cause."),
      "[mcpivot] the new generation of \"dev\" failed: it exited\nstderr:\nGeneration 3 is still serving.\n"
      "Next: fix the cause.");
}

TEST(BirthReport, an_unused_generation_says_that_it_waits_for_a_client) {
  EXPECT_EQ(unused_report("dev", "generation", 1, "pid 4242"),
            "[mcpivot] \"dev\": generation 1 (pid 4242) is waiting for a client, and is initialized when one "
            "connects.");
}

TEST(BirthReport, includes_the_outcome_of_the_recorded_calls) {
  BirthNews told = news();
  told.checked = "12 of 14 recorded calls answer the same, 2 differ.\n  search: n: 1 → 2";
  EXPECT_EQ(birth_report(told),
            "headline\n12 of 14 recorded calls answer the same, 2 differ.\n  search: n: 1 → 2");
}

TEST(BirthReport, an_unchecked_build_is_held_back_with_advice) {
  EXPECT_EQ(held_report("dev", "No recorded calls were checked: calls.json: No such file or directory.", true,
                        3, ControlNames()),
            "[mcpivot] the new build of \"dev\" is held back, because it could not be checked. No recorded "
            "calls were checked: calls.json: No such file or directory.\nGeneration 3 is still serving.\n"
            "Next: fix the recorded calls and build again; or accept the build unchecked (pivot_rebuild with "
            "accept: true, or \"mcpivot accept dev\" in a terminal).");
}

TEST(BirthReport, a_held_build_says_how_to_accept_it) {
  EXPECT_EQ(
      held_report("dev", "1 of 2 recorded calls answer the same, 1 differs.", false, 3, ControlNames()),
      "[mcpivot] the new build of \"dev\" is held back, because it answers differently. 1 of 2 recorded "
      "calls answer the same, 1 differs.\nGeneration 3 is still serving.\nNext: if the new answers are "
      "right, "
      "accept them (pivot_rebuild with accept: true, or \"mcpivot accept dev\" in a terminal); otherwise "
      "fix the code and build again.");
  ControlNames without_build;
  without_build.rebuild = {};
  EXPECT_NE(held_report("dev", "", false, 3, without_build).find("(pivot_restart with accept: true, or "),
            std::string::npos);
  ControlNames another;
  another.rebuild = "recompile";
  EXPECT_NE(
      held_report("dev", "", false, 3, another).find("accept them (\"mcpivot accept dev\" in a terminal)"),
      std::string::npos)
      << "a tool of another program's takes no such argument";
}

}  // namespace
}  // namespace mcpivot
