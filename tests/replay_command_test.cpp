// `mcpivot replay`: recorded calls against another build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "era_questions.h"
#include "lives.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string harmless(const std::string& name) {
  return R"({"name":")" + name +
         R"(","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}})";
}

json::object text_result(const std::string& text) {
  return {{"content", {{{"type", "text"}, {"text", text}}}}};
}

json::object kept(const std::string& tool, const json::object& arguments, const json::object& result) {
  return {{"tool", tool}, {"arguments", arguments}, {"result", result}};
}

class Folder {
 public:
  const std::filesystem::path& path() const { return directory_.path(); }
  void keep(const json::array& calls) const {
    std::ofstream(path() / "calls.json") << json::serialize(json::object{{"calls", calls}});
  }
  // Against a fake server with these options.
  Outcome replay(Strings options, const Strings& server = {}) const {
    options.insert(options.begin(), {"replay", "calls.json"});
    options.insert(options.end(), {"--", fake_server_binary(), "--tool", harmless("echo")});
    options.insert(options.end(), server.begin(), server.end());
    return run_mcpivot(options, path());
  }

 private:
  TemporaryDirectory directory_;
};

TEST(ReplayCommand, says_of_each_call_whether_its_answer_is_the_same) {
  const Folder folder;
  folder.keep({kept("echo", {{"text", "hi"}}, text_result("hi")),
               kept("echo", {{"text", "new"}}, text_result("old"))});
  const Outcome outcome = folder.replay({});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  same     echo {\"text\":\"hi\"}\n"),
                                 HasSubstr("  DIFFERS  echo {\"text\":\"new\"}\n"
                                           "             content[0].text: \"old\" → \"new\"\n"),
                                 HasSubstr("fake_server: 1 of 2 calls answer the same, 1 differs.\n")));
  folder.keep({kept("echo", {{"text", "hi"}}, text_result("hi"))});
  EXPECT_EQ(folder.replay({}).exit_code, 0);
}

TEST(ReplayCommand, prints_no_control_characters_of_what_was_recorded_or_answered) {
  const Folder folder;
  folder.keep({kept("echo", {{"text", "\x1b[31m\xC2\x9b"}}, text_result("old")), kept("gone\x1b[2J", {}, {}),
               kept("unsafe\x1b[2J", {}, {})});
  const Outcome outcome = folder.replay({}, {"--tool", R"({"name":"unsafe\u001b[2J","inputSchema":{}})"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("GONE     gone?[2J"), HasSubstr("unsafe?[2J"),
                                 Not(HasSubstr("\x1b")), Not(HasSubstr("\xC2\x9b"))));
}

TEST(ReplayCommand, ignores_the_paths_it_is_told_to) {
  const Folder folder;
  folder.keep({kept("echo", {{"text", "new"}}, text_result("old"))});
  EXPECT_EQ(folder.replay({"--ignore", "content[*].text"}).exit_code, 0);
  EXPECT_EQ(folder.replay({"--ignore", "structuredContent"}).exit_code, 1);
  const Outcome wrong = folder.replay({"--ignore", "content["});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("\"content[\" isn't a path in an answer"));
}

TEST(ReplayCommand, makes_only_safe_calls_unless_told_otherwise) {
  const Folder folder;
  const json::object args{{"name", "X"}};
  folder.keep({kept("env", args, text_result("")), kept("cwd", {}, text_result("x"))});
  const Outcome safe = folder.replay({});
  EXPECT_EQ(safe.exit_code, 2) << "nothing was compared";
  EXPECT_THAT(safe.out,
              AllOf(HasSubstr("no call was compared"), HasSubstr("2 left out"), HasSubstr("cwd, env")));
  const Outcome unsafe = folder.replay({"--unsafe"});
  EXPECT_EQ(unsafe.exit_code, 1);
  EXPECT_THAT(unsafe.err, HasSubstr("--unsafe: repeating every recorded call"));
  const Outcome listed = folder.replay({"--safe", "env"});
  EXPECT_THAT(listed.out, AllOf(HasSubstr("of 1 calls answer the same"), HasSubstr("1 left out")));
  const Outcome wrong = folder.replay({"--safe", "{env"});
  EXPECT_EQ(wrong.exit_code, 2) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("--safe: "));
}

TEST(ReplayCommand, gives_the_recorded_client_s_answers_to_the_server_s_questions) {
  const Folder folder;
  json::object call = kept("ask", {{"method", "elicitation/create"}, {"params", {{"message", "Name?"}}}},
                           text_result(R"({"action":"accept","content":{"name":"Ada"}})"));
  call["asked"] = {{{"method", "elicitation/create"},
                    {"params", {{"message", "Name?"}}},
                    {"result", {{"action", "accept"}, {"content", {{"name", "Ada"}}}}}}};
  folder.keep({call});
  const Outcome outcome = folder.replay({"--safe", "ask"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

// A modern server asks in its answer, and is called again with what it wants to know.
void expect_rounds_can_be_replayed(Era era) {
  using namespace questions;
  Client client({.options = {"--journal"}, .server = {"--era", "modern"}});
  greet(client, era);
  const json::object arguments = rounds({round_of(form, "s1"), round_of(roots, "s2")});
  if (era == Era::legacy) {
    const auto id = client.send_call("require", arguments);
    client.answer(client.expect_request("elicitation/create"), accepted());
    client.answer(client.expect_request("roots/list"), {{"roots", json::array()}});
    client.await(id);
  } else {
    json::object params = call_of("require", arguments);
    for (const json::value& answer : {json::value(accepted()), json::value({{"roots", json::array()}})}) {
      const json::object asks = client.request("tools/call", params);
      ASSERT_TRUE(wants_input(asks)) << json::serialize(asks);
      params["inputResponses"] = {{only_key(asks), answer}};
      params["requestState"] = state_in(asks);
    }
    client.request("tools/call", params);
  }
  client.child().close_stdin();
  ASSERT_TRUE(client.child().wait_exit(soon()));
  const Outcome outcome =
      run_mcpivot({"replay", "last", "--safe", "require", "--", fake_server_binary(), "--era", "modern"},
                  client.directory());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 of 1 calls answer the same"));
}

TEST(ReplayCommand, answers_the_rounds_of_a_modern_server_as_the_recorded_legacy_client_did) {
  expect_rounds_can_be_replayed(Era::legacy);
}

TEST(ReplayCommand, answers_the_rounds_of_a_modern_server_as_the_recorded_modern_client_did) {
  expect_rounds_can_be_replayed(Era::modern);
}

TEST(ReplayCommand, answers_a_legacy_server_as_the_recorded_modern_client_did) {
  using namespace questions;
  Client client({.options = {"--journal"}});
  greet(client, Era::modern);
  json::object params = call_of("ask", {{"method", "elicitation/create"}, {"params", form.at("params")}});
  const json::object asks = client.request("tools/call", params);
  ASSERT_TRUE(wants_input(asks)) << json::serialize(asks);
  params["inputResponses"] = {{only_key(asks), accepted()}};
  params["requestState"] = state_in(asks);
  client.request("tools/call", params);
  client.child().close_stdin();
  ASSERT_TRUE(client.child().wait_exit(soon()));
  const Outcome outcome =
      run_mcpivot({"replay", "last", "--safe", "ask", "--", fake_server_binary()}, client.directory());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 of 1 calls answer the same"));
}

TEST(ReplayCommand, reports_a_server_that_dies_and_counts_calls_not_made) {
  const Folder folder;
  folder.keep({kept("crash", {{"signal", "SIGSEGV"}, {"stderr", "panic: no luck"}}, text_result("x")),
               kept("echo", {{"text", "hi"}}, text_result("hi"))});
  const Outcome outcome = folder.replay({"--unsafe"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  DIED     crash"), HasSubstr("The server was killed by SIGSEGV"),
                                 HasSubstr("panic: no luck"), HasSubstr("1 not run.")));
}

TEST(ReplayCommand, counts_a_missing_tool_and_a_hanging_call_as_differences) {
  const Folder folder;
  folder.keep(
      {kept("vanished", {}, text_result("x")), kept("sleep", {{"ms", 60'000}}, text_result("slept"))});
  const Outcome outcome = folder.replay({"--unsafe", "--timeout", "200ms"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  GONE     vanished: the server has no such tool"),
                                 HasSubstr("  LATE     sleep"), HasSubstr("no answer within 200 ms"),
                                 HasSubstr("0 of 2 calls answer the same, 2 differ.")));
}

// Models sometimes call what isn't there, and the next build has no such tool either.
TEST(ReplayCommand, a_tool_that_was_missing_before_is_not_a_difference) {
  const Folder folder;
  json::object unknown = text_result("Unknown tool: invented");
  unknown["isError"] = true;
  folder.keep({{{"tool", "misspelt"}, {"error", {{"code", -32602}, {"message", "Unknown tool"}}}},
               kept("invented", {}, unknown),
               kept("echo", {{"text", "hi"}}, text_result("hi"))});
  const Outcome outcome = folder.replay({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("1 of 1 calls answer the same."),
                                 HasSubstr("2 left out: the server has no such tool, and the recorded answer "
                                           "is an error.")));
}

TEST(ReplayCommand, also_calls_a_modern_server) {
  const Folder folder;
  folder.keep({kept("echo", {{"text", "hi"}}, text_result("hi"))});
  EXPECT_EQ(folder.replay({}, {"--era", "modern"}).exit_code, 0);
}

TEST(ReplayCommand, prints_json_for_ci) {
  const Folder folder;
  folder.keep({kept("echo", {{"text", "new"}}, text_result("old")), kept("pid", {}, text_result("1"))});
  const Outcome outcome = folder.replay({"--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const json::value result = json::parse(outcome.out);
  EXPECT_EQ(result.at("same"), false);
  const json::value& server = result.at("servers").at(0);
  EXPECT_EQ(server.at("counts").at("differs"), 1);
  EXPECT_EQ(server.at("counts").at("unsafe"), 1);
  EXPECT_EQ(server.at("calls").at(0).at("differences").at(0).at("path"), "content[0].text");
}

TEST(ReplayCommand, calls_the_servers_of_a_config_file_by_name) {
  const Folder folder;
  std::ofstream(folder.path() / "mcpivot.json")
      << json::serialize(json::object{{"mcpServers",
                                       {{"a", {{"command", fake_server_binary()}, {"replay_safe", {"echo"}}}},
                                        {"b", {{"command", fake_server_binary()}}}}}});
  json::object call = kept("echo", {{"text", "hi"}}, text_result("hi"));
  call["server"] = "a";
  folder.keep({call});
  EXPECT_EQ(run_mcpivot({"replay", "calls.json"}, folder.path()).exit_code, 0);
  EXPECT_EQ(run_mcpivot({"replay", "calls.json", "--server", "a"}, folder.path()).exit_code, 0);
  const Outcome unknown = run_mcpivot({"replay", "calls.json", "--server", "c"}, folder.path());
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("has no server \"c\"; it has: a, b"));
}

TEST(ReplayCommand, that_cannot_run_says_why) {
  const Folder folder;
  EXPECT_EQ(folder.replay({}).exit_code, 2) << "there is no file";
  std::ofstream(folder.path() / "calls.json") << "{\"calls\": [{}]}";
  const Outcome wrong = folder.replay({});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("calls.json:1:12: \"tool\" is missing"));
  folder.keep({kept("echo", {{"text", "hi"}}, text_result("hi"))});
  const Outcome broken = folder.replay({}, {"--die", "start", "--how", "3"});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("exited with code 3"));
}

}  // namespace
}  // namespace harness
