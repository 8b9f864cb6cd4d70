// Every rebuild is checked: recorded calls are sent to the new build before it serves, and callers who asked
// for the build are told which answers differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "lives.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A tool that declares that it may be called again.
std::string harmless(const std::string& name) {
  return R"({"name":")" + name +
         R"(","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}})";
}

// `echo` and `look` are safe, `pid` is not; `look` answers differently in each life of the server.
ClientOptions checked(Strings options, const Strings& later = {}) {
  options.insert(options.end(), {"--build", "true", "--verify", "calls.json"});
  Strings server = {"--lives", "lives", "--tool", harmless("echo"), "--tool", harmless("look")};
  if (!later.empty()) server.insert(server.end(), {"--life", "2+"});
  server.insert(server.end(), later.begin(), later.end());
  return {.options = std::move(options), .server = std::move(server)};
}

struct Made {
  std::string tool;
  json::object arguments{};
};

// Makes these calls, and keeps what the server answers.
void keep(Client& client, const std::vector<Made>& calls, const json::array& ignore = {}) {
  json::array kept;
  for (const Made& call : calls)
    kept.push_back({{"tool", call.tool},
                    {"arguments", call.arguments},
                    {"result", client.call(call.tool, call.arguments).at("result")}});
  std::ofstream(client.directory() / "calls.json")
      << json::serialize(json::object{{"version", 1}, {"ignore", ignore}, {"calls", kept}});
}

TEST(Verify, reports_how_many_calls_answer_the_same_and_what_differs) {
  Client client(checked({}));
  client.initialize();
  keep(client, {{"echo", {{"text", "hi"}}}, {"look"}, {"pid"}});
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("generation 2"),
                                     HasSubstr("1 of 2 recorded calls answer the same, 1 differs.\n"
                                               "  look: content[0].text: \"look in life 1 with {}\" → "
                                               "\"look in life 2 with {}\"")));
  EXPECT_THAT(own(client, "look"), StartsWith("look in life 2")) << "without a gate it serves";
  EXPECT_THAT(client.call_text("pivot_status"),
              HasSubstr("last check: 1 of 2 recorded calls answer the same, 1 differs."));
}

TEST(Verify, sends_only_safe_calls_to_a_new_build_unseen_by_the_client) {
  Client client(checked({}));
  client.initialize();
  keep(client, {{"echo", {{"text", "hi"}}}, {"pid"}, {"count"}});
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("1 of 1 recorded calls answer the same."));
  const std::string seen = own(client, "seen");
  EXPECT_THAT(seen, AllOf(HasSubstr(R"("name":"echo")"), Not(HasSubstr(R"("name":"pid")")),
                          Not(HasSubstr(R"("name":"count")"))));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Verify, reports_what_differs_in_the_status_after_a_save) {
  Client client(checked({"--watch", "*.txt", "--on-save", "wait"}));
  client.initialize();
  keep(client, {{"look"}});
  std::ofstream(client.directory() / "source.txt") << "changed";
  ASSERT_TRUE(wait_until([&] { return own(client, "look").starts_with("look in life 2"); }, soon()));
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("last check: 0 of 1 recorded calls"));
}

TEST(Verify, ignores_differences_that_the_file_allows) {
  Client client(checked({}));
  client.initialize();
  keep(client, {{"look"}}, {"content[*].text"});
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("1 of 1 recorded calls answer the same."));
}

TEST(Verify, a_missing_tool_is_a_difference) {
  Client client(checked({}));
  client.initialize();
  keep(client, {{"look"}});
  Client other({.options = {"--build", "true", "--verify", (client.directory() / "calls.json").string()},
                .server = {"--lives", "lives", "--life", "1", "--tool", harmless("look")}});
  other.initialize();
  EXPECT_THAT(text_of(other.call("pivot_rebuild")), HasSubstr("1 differs.\n  look: the tool is gone"));
}

TEST(Verify, a_build_that_crashes_on_a_recorded_call_fails_and_the_old_one_serves) {
  Client client(checked({}, {"--die", "1", "--how", "SIGSEGV"}));
  client.initialize();
  const pid_t old = server_pid(client);
  keep(client, {{"echo", {{"text", "a"}}}, {"echo", {{"text", "b"}}}, {"look"}});
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("SIGSEGV"), HasSubstr("Generation 1 is still serving.")));
  EXPECT_EQ(server_pid(client), old);
}

TEST(Verify, a_call_without_a_timely_answer_is_not_checked_and_blocks_nothing) {
  Client client(checked({}, {"--delay", "tools/call=4000"}));
  client.initialize();
  keep(client, {{"echo", {{"text", "hi"}}}});
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer),
              AllOf(HasSubstr("generation 2"), HasSubstr("1 not checked (no answer within 2 s).")));
}

TEST(Verify, questions_of_a_build_during_its_check_reach_no_client) {
  Client client(checked({}, {"--tool", harmless("ask")}));
  client.initialize();
  std::ofstream(client.directory() / "calls.json")
      << R"({"calls":[{"tool":"ask","arguments":{"method":"elicitation/create","params":{"message":"?"}},"result":{"content":[]}}]})";
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("0 of 1 recorded calls answer the same"));
  EXPECT_EQ(own(client, "echo", {{"text", "still"}}), "still");
  EXPECT_THAT(client.requests, IsEmpty());
}

TEST(Verify, a_missing_or_invalid_file_is_named_and_the_build_serves) {
  Client client(checked({}));
  client.initialize();
  const json::object first = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(first));
  EXPECT_THAT(text_of(first), AllOf(HasSubstr("No recorded calls were checked: "), HasSubstr("calls.json")));
  std::ofstream(client.directory() / "calls.json") << "{\n \"call\": []}";
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("calls.json:1:1: \"calls\" is missing"));
}

TEST(Verify, a_stop_first_server_is_checked_after_its_start) {
  Client client(checked({"--swap", "stop-first"}));
  client.initialize();
  keep(client, {{"look"}});
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("0 of 1 recorded calls answer the same, 1 differs."));
  EXPECT_THAT(own(client, "look"), StartsWith("look in life 2"));
}

TEST(Verify, uses_this_projects_journal_and_reports_each_difference_once) {
  ClientOptions options = checked({"--journal"});
  *std::ranges::find(options.options, "calls.json") = "journal";
  Client client(options);
  client.initialize();
  EXPECT_THAT(own(client, "look"), StartsWith("look in life 1"));
  EXPECT_TRUE(wait_until(
      [&] {
        return run_mcpivot({"journal", "--tool", "look"}, client.directory()).out.find("life 1") !=
               std::string::npos;
      },
      soon()));
  EXPECT_THAT(text_of(client.call("pivot_rebuild")),
              HasSubstr("0 of 1 recorded calls answer the same, 1 differs."));
  // Now it is compared with what it answered in its second life.
  EXPECT_THAT(text_of(client.call("pivot_rebuild")),
              HasSubstr("\"look in life 2 with {}\" → \"look in life 3 with {}\""));
  EXPECT_THAT(client.answers, IsEmpty());
}

// A reader then waits for a writer.
TEST(Verify, an_unreadable_file_delays_neither_the_build_nor_the_end) {
  Client client(checked({}));
  client.initialize();
  ASSERT_EQ(::mkfifo((client.directory() / "calls.json").c_str(), 0600), 0);
  EXPECT_THAT(text_of(client.call("pivot_rebuild")),
              HasSubstr("No recorded calls were checked: they could not be read within 2 s."));
  client.child().close_stdin();
  EXPECT_TRUE(client.child().wait_exit(soon()));
}

// --- gate

TEST(Gate, keeps_the_old_build_until_the_model_accepts_the_new_one) {
  Client client(checked({"--gate"}));
  client.initialize();
  keep(client, {{"echo", {{"text", "hi"}}}, {"look"}});
  const json::object held = client.call("pivot_rebuild");
  EXPECT_TRUE(is_error(held));
  EXPECT_THAT(
      text_of(held),
      AllOf(HasSubstr("is held back"), HasSubstr("1 of 2 recorded calls answer the same, 1 differs."),
            HasSubstr("Generation 1 is still serving."), HasSubstr("pivot_rebuild with accept: true")));
  EXPECT_THAT(own(client, "look"), StartsWith("look in life 1"));
  EXPECT_THAT(client.call_text("pivot_status"),
              HasSubstr("held back: 1 of 2 recorded calls answer the same, 1 differs."));
  const json::object accepted = client.call("pivot_rebuild", {{"accept", true}});
  EXPECT_FALSE(is_error(accepted));
  EXPECT_THAT(text_of(accepted), AllOf(HasSubstr("generation 3"), HasSubstr("accepted on request")));
  EXPECT_THAT(own(client, "look"), StartsWith("look in life 3"));
  EXPECT_THAT(text_of(client.call("pivot_rebuild", {{"accept", true}})), HasSubstr("no build is held back"));
}

TEST(Gate, swaps_in_a_build_that_answers_the_same) {
  Client client(checked({"--gate"}));
  client.initialize();
  keep(client, {{"echo", {{"text", "hi"}}}});
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("1 of 1 recorded calls answer the same."));
  EXPECT_EQ(client.call_text("pivot_status").find("held back"), std::string::npos);
}

TEST(Gate, can_be_accepted_from_a_terminal) {
  Client client(checked({"--gate"}));
  client.initialize();
  keep(client, {{"look"}});
  EXPECT_TRUE(is_error(client.call("pivot_rebuild")));
  const Outcome outcome = run_mcpivot({"accept"}, client.directory());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("accepted from a terminal"));
  EXPECT_THAT(own(client, "look"), StartsWith("look in life 3"));
  EXPECT_EQ(run_mcpivot({"accept"}, client.directory()).exit_code, 1) << "there is nothing left to accept";
}

TEST(Gate, the_next_build_is_compared_with_accepted_answers) {
  // From its second life on, it answers the same again.
  Client client({.options = {"--gate", "--build", "true", "--verify", "calls.json"},
                 .server = {"--lives", "lives", "--tool", harmless("fail"), "--life", "2+", "--answer",
                            R"(tools/call={"content":[{"type":"text","text":"new"}]})"}});
  client.initialize();
  keep(client, {{"fail", {{"text", "old"}}}});
  EXPECT_TRUE(is_error(client.call("pivot_rebuild")));
  EXPECT_FALSE(is_error(client.call("pivot_rebuild", {{"accept", true}})));
  const json::object again = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(again));
  EXPECT_THAT(text_of(again), HasSubstr("1 of 1 recorded calls answer the same."));
}

TEST(Gate, saving_the_file_of_kept_calls_again_overrides_accepted_answers) {
  Client client({.options = {"--gate", "--build", "true", "--verify", "calls.json"},
                 .server = {"--lives", "lives", "--tool", harmless("fail"), "--life", "2+", "--answer",
                            R"(tools/call={"content":[{"type":"text","text":"new"}]})"}});
  client.initialize();
  keep(client, {{"fail", {{"text", "old"}}}});
  const std::string kept = content_of(client.directory() / "calls.json");
  EXPECT_TRUE(is_error(client.call("pivot_rebuild")));
  EXPECT_FALSE(is_error(client.call("pivot_rebuild", {{"accept", true}})));
  std::ofstream(client.directory() / "calls.json") << kept;
  EXPECT_TRUE(is_error(client.call("pivot_rebuild"))) << "the file says that the old answer is right";
}

TEST(Gate, holds_back_a_build_that_cannot_be_checked) {
  for (const bool missing : {true, false}) {
    Client client(checked({"--gate"}));
    client.initialize();
    if (!missing) std::ofstream(client.directory() / "calls.json") << "garbage";
    const json::object held = client.call("pivot_rebuild");
    EXPECT_TRUE(is_error(held));
    EXPECT_THAT(text_of(held),
                AllOf(HasSubstr("is held back, because it could not be checked. No recorded calls were "
                                "checked: "),
                      HasSubstr("calls.json"), HasSubstr("Generation 1 is still serving."),
                      HasSubstr("accept the build unchecked (pivot_rebuild with accept: true")));
    EXPECT_THAT(own(client, "look"), StartsWith("look in life 1"));
    EXPECT_FALSE(is_error(client.call("pivot_rebuild", {{"accept", true}})));
    EXPECT_THAT(own(client, "look"), StartsWith("look in life 3"));
    keep(client, {{"echo", {{"text", "hi"}}}});
    EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  }
}

TEST(Gate, holds_nothing_back_when_nothing_is_recorded_yet) {
  for (const Strings& journal : {Strings{}, Strings{"--journal"}}) {
    ClientOptions options = checked({"--gate"});
    *std::ranges::find(options.options, "calls.json") = "journal";
    options.options.insert(options.options.end(), journal.begin(), journal.end());
    Client client(options);
    client.initialize();
    const json::object answer = client.call("pivot_rebuild");
    EXPECT_FALSE(is_error(answer));
    EXPECT_THAT(text_of(answer), HasSubstr("No recorded calls were checked: there "));
  }
}

TEST(Gate, holds_nothing_back_when_no_old_build_serves) {
  ClientOptions options = checked({"--gate"});
  options.own_program = true;  // a stop ends every process that runs it
  Client client(options);
  client.initialize();
  keep(client, {{"look"}});
  client.call("pivot_restart", {{"stop", true}});
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("1 differs."));
}

TEST(Gate, without_verify_is_refused) {
  const TemporaryDirectory directory;
  const Outcome outcome = run_mcpivot({"--gate", "--", "true"}, directory.path());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--gate: needs --verify"));
}

}  // namespace
}  // namespace harness
