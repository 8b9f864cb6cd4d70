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
          .reloaded = false};
}

BirthNews news() {
  return {.headline = "headline",
          .diff = {},
          .was_guess = false,
          .program = {},
          .failed_replays = {},
          .no_tools = {},
          .crash = {}};
}

TEST(BirthReport, a_headline_says_which_generation_serves_and_why) {
  EXPECT_EQ(generation_headline(generation()),
            "[mcpivot] \"dev\" restarted: generation 2, pid 4242, ready in 1.8 s (after a crash).");
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

TEST(BirthReport, who_reloaded_a_daemon_is_told_whether_it_was_restarted) {
  NewGeneration session = generation();
  session.reloaded = true;
  EXPECT_TRUE(session_headline(session, true).ends_with("(after a crash). The daemon was restarted."));
  EXPECT_TRUE(
      session_headline(session, false).ends_with("(after a crash). The daemon itself was not restarted."));
}

TEST(BirthReport, another_program_is_told_with_its_version_if_that_differs) {
  const NewProgram same{.file = "dev, 1 MB", .version_before = "1", .version = "1"};
  const NewProgram other{.file = "dev, 1 MB", .version_before = "1", .version = "2"};
  EXPECT_EQ(binary_line(same), "\nbinary: dev, 1 MB");
  EXPECT_EQ(binary_line(other), "\nbinary: dev, 1 MB; version 1 → 2");
  EXPECT_EQ(version_line(other), "\nversion 1 → 2");
}

TEST(BirthReport, what_is_not_of_interest_is_not_told) {
  EXPECT_EQ(birth_report(news()), "headline");
}

TEST(BirthReport, what_changed_is_told_or_that_nothing_did) {
  BirthNews told = news();
  told.was_guess = true;
  told.diff = "";
  EXPECT_EQ(birth_report(told), "headline\ntools, prompts and resources: unchanged.");
  told.diff = "tools: +a.";
  EXPECT_EQ(birth_report(told), "headline\nunlike its last run: tools: +a.");
  told.was_guess = false;
  EXPECT_EQ(birth_report(told), "headline\ntools: +a.");
}

TEST(BirthReport, each_thing_that_went_wrong_has_its_line) {
  BirthNews told = news();
  told.program = "\nbinary: dev";
  told.failed_replays = {"open a", "open b"};
  told.no_tools = "out of cheese";
  told.crash = "was killed by SIGSEGV after 45 s";
  EXPECT_EQ(birth_report(told),
            "headline\nbinary: dev\nnot repeated: open a.\nnot repeated: open b.\n"
            "it has no tools: out of cheese.\nprevious generation: was killed by SIGSEGV after 45 s.");
}

TEST(BirthReport, a_failure_says_what_still_serves) {
  EXPECT_EQ(failure_report("dev", "it exited", {}), "[mcpivot] \"dev\" failed to start: it exited");
  EXPECT_EQ(failure_report("dev", "it exited", 3),
            "[mcpivot] the new generation of \"dev\" failed: it exited\nGeneration 3 still serves.");
}

TEST(BirthReport, one_that_no_client_has_met_says_what_it_waits_for) {
  EXPECT_EQ(unused_report("dev", "generation", 1, "pid 4242"),
            "[mcpivot] \"dev\": generation 1 (pid 4242) waits for the client, and is initialized when it "
            "connects.");
}

}  // namespace
}  // namespace mcpivot
