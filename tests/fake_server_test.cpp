// The fake server and the harness without mcpivot in between: what the other tests rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "eras.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

ClientOptions direct(std::vector<std::string> arguments) {
  return {.server = std::move(arguments), .direct = true};
}

void expect_exit(Client& client, int code) {
  const auto status = client.child().wait_exit(soon());
  ASSERT_TRUE(status);
  ASSERT_TRUE(WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), code);
}

void expect_signal(Client& client, int number) {
  const auto status = client.child().wait_exit(soon());
  ASSERT_TRUE(status);
  ASSERT_TRUE(WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), number);
}

TEST(FakeServer, initializes_answers_calls_and_ends_at_eof) {
  Client client(direct({}));
  const json::object answer = client.initialize("2025-03-26");
  EXPECT_EQ(answer.at("result").at("protocolVersion"), "2025-03-26");
  EXPECT_EQ(answer.at("result").at("serverInfo").at("name"), "fake");
  EXPECT_EQ(client.call_text("echo", {{"text", "hello"}}), "hello");
  EXPECT_EQ(client.call_text("pid"), std::to_string(client.child().pid()));
  EXPECT_EQ(client.call_text("count"), "3");
  client.child().close_stdin();
  expect_exit(client, 0);
}

TEST(FakeServer, sleeps_during_other_calls_and_honours_cancellation) {
  Client client(direct({}));
  client.initialize();
  const auto long_sleep = client.send_call("sleep", {{"ms", 600'000}});
  const auto short_sleep = client.send_call("sleep", {{"ms", 1}});
  EXPECT_EQ(text_of(client.await(short_sleep)), "slept 1 ms");
  client.notify("notifications/cancelled", {{"requestId", long_sleep}});
  EXPECT_THAT(client.call_text("state"), HasSubstr("\"cancelled\":[" + std::to_string(long_sleep) + "]"));
}

TEST(FakeServer, reports_progress_before_its_response) {
  Client client(direct({}));
  client.initialize();
  const auto id = client.send(
      "tools/call",
      {{"name", "sleep"}, {"arguments", {{"ms", 3}, {"steps", 3}}}, {"_meta", {{"progressToken", "p"}}}});
  client.await(id);
  ASSERT_EQ(client.notifications.size(), 3U);
  EXPECT_EQ(client.notifications.back().at("params").at("progress"), 3);
}

TEST(FakeServer, asks_the_client_and_passes_its_answer_on) {
  Client client(direct({}));
  client.initialize();
  const auto id = client.send_call("ask", {{"method", "roots/list"}, {"id", "q"}});
  const json::object request = client.expect_request("roots/list");
  EXPECT_EQ(request.at("id"), "q");
  client.answer(request, {{"roots", json::array{}}});
  EXPECT_EQ(text_of(client.await(id)), R"({"roots":[]})");
}

TEST(FakeServer, dies_as_instructed) {
  Client exits(direct({"--die", "start", "--how", "7"}));
  expect_exit(exits, 7);

  Client refuses(direct({"--die", "before-initialize", "--how", "SIGSEGV"}));
  refuses.send("initialize");
  expect_signal(refuses, SIGSEGV);

  Client answers_first(direct({"--die", "after-initialize"}));
  answers_first.request("initialize");
  expect_exit(answers_first, 1);

  Client after_calls(direct({"--die", "2", "--how", "SIGKILL"}));
  after_calls.call("echo");
  after_calls.call("echo");
  expect_signal(after_calls, SIGKILL);

  Client crashes(direct({}));
  crashes.send_call("crash", {{"signal", "SIGABRT"}, {"stderr", "panic: ouch"}});
  expect_signal(crashes, SIGABRT);
  EXPECT_TRUE(crashes.child().wait_stderr("panic: ouch", soon()));
}

TEST(FakeServer, counts_its_lives_and_changes_with_each) {
  const TemporaryDirectory directory;
  const std::string lives = directory.path() / "lives";
  const std::string script = directory.path() / "script.json";
  std::ofstream(script) << R"({"only":"none","lives":[{"tool":["old","same"]},{"tool":["same","new"]}]})";
  for (const auto& expected :
       {std::vector<std::string>{"old", "same"}, {"same", "new"}, {"same", "new", "third"}}) {
    Client client(direct({"--lives", lives, "--script", script, "--life", "3+", "--tool", "third"}));
    client.initialize();
    EXPECT_EQ(tools_of(client), expected);
  }
}

TEST(FakeServer, pages_its_lists_and_annotates_its_tools) {
  Client client(direct({"--only", "echo,pid,count", "--page", "2", "--hint", "count=readOnlyHint"}));
  client.initialize();
  const json::object first = client.request("tools/list");
  EXPECT_EQ(first.at("result").at("tools").as_array().size(), 2U);
  const json::object second = client.request("tools/list", {{"cursor", first.at("result").at("nextCursor")}});
  EXPECT_EQ(second.at("result").at("tools").at(0).at("annotations").at("readOnlyHint"), true);
  EXPECT_FALSE(second.at("result").as_object().contains("nextCursor"));
}

TEST(FakeServer, leaves_a_grandchild_when_told_to) {
  Client client(direct({}));
  client.initialize();
  const pid_t grandchild = std::stoi(client.call_text("fork", {{"ignore_term", true}}));
  EXPECT_TRUE(process_alive(grandchild));
  EXPECT_THAT(processes_in_group(client.child().pid()), testing::Contains(grandchild));
  EXPECT_THAT(descendants_of(client.child().pid()), testing::Contains(grandchild));
  kill(grandchild, SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !process_alive(grandchild); }, soon()));
}

TEST(FakeServer, writes_a_journal_of_what_it_executed) {
  const TemporaryDirectory directory;
  const std::string journal = directory.path() / "journal";
  Client client(direct({"--journal", journal}));
  client.call("echo", {{"text", "once"}});
  EXPECT_EQ(content_of(journal), R"(1 echo {"text":"once"})"
                                 "\n");
}

TEST(FakeServer, that_stops_reading_makes_the_writer_wait) {
  Client client(direct({}));
  client.call("stop_reading");
  EXPECT_FALSE(client.child().offer(std::string(1 << 20, ' '), in(std::chrono::milliseconds(20))));
  EXPECT_GT(client.child().unsent(), 0U);
}

TEST(FakeServer, that_closes_stdout_lives_on) {
  Client client(direct({}));
  client.call("close_stdout");
  EXPECT_TRUE(client.child().wait_end(soon()));
  EXPECT_TRUE(process_alive(client.child().pid()));
}

TEST(FakeServer, writes_odd_lines_when_told_to) {
  Client client(direct({"--crlf", "--id-last", "--float-ids", "--twice", "--garbage", "hello"}));
  EXPECT_EQ(client.child().read_line(soon()), "hello");
  client.send_call("echo", {{"text", "x"}});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(
        client.child().read_line(soon()),
        "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]},\"jsonrpc\":\"2.0\",\"id\":1.0}\r");
}

TEST(Harness, handles_a_flood_on_all_pipes_at_once) {
  Client client(direct({"--stderr-flood", "20000"}));
  client.initialize();
  const auto id = client.send_call("big", {{"bytes", 5'000'000}});
  client.child().send_line(std::string(5'000'000, ' '));
  EXPECT_EQ(text_of(client.await(id)).size(), 5'000'000U);
  EXPECT_TRUE(client.child().wait_stderr("flood 20000 of 20000", soon()));
}

TEST(Harness, inspects_processes) {
  EXPECT_TRUE(process_alive(getpid()));
  EXPECT_GT(rss_kb(getpid()), 0);
  EXPECT_GE(open_fds(getpid()), 3U);
}

// ---- The modern era.

TEST(FakeServer, of_the_modern_era_requires_client_information_in_every_request) {
  Client client(direct({"--era", "modern"}));
  EXPECT_EQ(code_of(client.request("initialize", {{"protocolVersion", "2025-11-25"}})), -32022);
  EXPECT_EQ(code_of(client.request("tools/list")), -32602);
  client.meta = {{version_key, modern_version}};
  EXPECT_EQ(code_of(client.request("tools/list")), -32602);
  client.meta = modern_meta();
  const json::object discovered = client.request("server/discover");
  EXPECT_EQ(versions_in(discovered), Strings{modern_version});
  EXPECT_EQ(discovered.at("result").at("ttlMs"), 0);
  EXPECT_EQ(client.call("echo").at("result").at("resultType"), "complete");
  for (const char* gone : {"ping", "logging/setLevel", "resources/subscribe", "tasks/get"})
    EXPECT_EQ(code_of(client.request(gone)), -32601) << gone;
}

TEST(FakeServer, of_both_eras_keeps_the_era_of_its_first_message) {
  Client modern(direct({"--era", "both"}));
  modern.meta = modern_meta();
  EXPECT_EQ(versions_in(modern.request("server/discover")), (Strings{modern_version, "2025-11-25"}));
  modern.meta.reset();
  EXPECT_EQ(code_of(modern.request("initialize", {{"protocolVersion", "2025-11-25"}})), -32022);

  Client legacy(direct({"--era", "both"}));
  legacy.initialize();
  legacy.meta = modern_meta();
  EXPECT_EQ(code_of(legacy.request("server/discover")), -32601);
}

TEST(FakeServer, that_is_deaf_ignores_the_other_era) {
  Client client(direct({"--era", "legacy", "--deaf"}));
  client.meta = modern_meta();
  const auto unheard = client.send("server/discover");
  client.meta.reset();
  client.initialize();
  EXPECT_TRUE(client.answers.empty()) << "to " << unheard;

  Client other(direct({"--era", "modern", "--deaf"}));
  other.send("initialize", {{"protocolVersion", "2025-11-25"}});
  other.meta = modern_meta();
  other.request("server/discover");
  EXPECT_TRUE(other.answers.empty());
}

TEST(FakeServer, requires_answers_round_after_round_in_either_era) {
  const json::array two = {round_of(elicitation("1"), "s1"), round_of(elicitation("2"), "s2")};
  Client modern(direct({"--era", "modern"}));
  modern.meta = modern_meta();
  json::object params = call_of("require", rounds(two));
  json::object answer = modern.request("tools/call", params);
  for (int round = 1; round <= 2; ++round) {
    ASSERT_TRUE(wants_input(answer));
    answer = modern.request("tools/call", retry_of(params, answer, {{"round", round}}));
  }
  EXPECT_EQ(text_of(answer), R"([{"inputResponses":{"q":{"round":1}},"requestState":"s1"},)"
                             R"({"inputResponses":{"q":{"round":2}},"requestState":"s2"}])");

  Client legacy(direct({}));
  legacy.initialize();
  const auto id = legacy.send("tools/call", params);
  for (int round = 1; round <= 2; ++round)
    legacy.answer(legacy.expect_request("elicitation/create"), {{"round", round}});
  EXPECT_EQ(text_of(legacy.await(id)), R"([{"q":{"round":1}},{"q":{"round":2}}])");
}

TEST(FakeServer, notifies_only_listeners_and_only_of_what_they_listen_for) {
  Client client(direct({"--era", "modern"}));
  client.meta = modern_meta();
  const auto tools = listen(client, {{"toolsListChanged", true}});
  const auto resource = listen(client, {{"resourceSubscriptions", json::array{"fake://hello"}}});
  client.call("mutate");
  client.call("touch", {{"uri", "fake://hello"}});
  client.call("touch", {{"uri", "fake://else"}});
  ASSERT_EQ(client.notifications.size(), 2U);
  EXPECT_EQ(subscription_of(client.notifications[0]), tools);
  EXPECT_EQ(subscription_of(client.notifications[1]), resource);
  client.notify("notifications/cancelled", {{"requestId", tools}});
  client.call("mutate");
  EXPECT_EQ(client.notifications.size(), 2U);
}

}  // namespace
}  // namespace harness
