// A rebuilt server takes over only if it works, and the client continues as if it had always been there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// ---- What works.

TEST(Rebuild, swaps_in_the_new_server_and_says_what_changed) {
  Client client({.options = {"--build", "echo built >> builds"},
                 .server = {"--lives", "lives", "--life", "1", "--tool", "old_tool", "--life", "2+", "--tool",
                            "new_tool", "--describe", "echo=Says it again.", "--prompt", "review",
                            "--resource", "fake://new"}});
  client.initialize();
  const pid_t old = server_pid(client);
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_FALSE(is_error(answer));
  EXPECT_THAT(text_of(answer),
              AllOf(StartsWith("[mcpivot] "), HasSubstr("fake_server"), HasSubstr("generation 2"),
                    HasSubstr("+new_tool"), HasSubstr("~echo (description)"), HasSubstr("-old_tool"),
                    HasSubstr("+review"), HasSubstr("+fake://new")));
  for (const char* list : {"tools", "prompts", "resources"})
    client.expect_notification("notifications/" + std::string(list) + "/list_changed");
  EXPECT_THAT(tools_of(client), AllOf(Contains("new_tool"), Not(Contains("old_tool"))));
  EXPECT_THAT(names_in(client.request("resources/list"), "resources", "uri"), Contains("fake://new"));
  EXPECT_THAT(own(client, "new_tool"), StartsWith("new_tool in life 2"));
  EXPECT_TRUE(wait_gone({old}));
  EXPECT_THAT(lines_of(client.directory() / "builds"), SizeIs(1));
}

TEST(Rebuild, says_which_arguments_of_a_tool_changed) {
  const std::string before =
      R"({"name":"read_file","inputSchema":{"type":"object","properties":{"path":{}}}})";
  const std::string after =
      R"({"name":"read_file","inputSchema":{"type":"object","properties":{"path":{},"limit":{}}}})";
  Client client(
      {.options = {"--build", "true"},
       .server = {"--lives", "lives", "--life", "1", "--tool", before, "--life", "2+", "--tool", after}});
  client.initialize();
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("tools: ~read_file (inputSchema: +limit)."));
  EXPECT_THAT(client.call_text("pivot_status"),
              AllOf(HasSubstr("last restart changed: tools: ~read_file (inputSchema: +limit)."),
                    HasSubstr("server: fake_server\ncalls itself: fake\n")));
}

TEST(Rebuild, without_a_changed_list_announces_none) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("unchanged"));
  EXPECT_EQ(blocks(client.call("echo")), 1U) << "it was told already";
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(Rebuild, a_call_in_flight_finishes_on_the_old_server) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const OpenCall call = open_call(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_TRUE(process_alive(old));
  client.answer(call.question, {{"said", "in time"}});
  EXPECT_THAT(own_text(client.await(call.id)), HasSubstr("in time"));
  EXPECT_TRUE(wait_gone({old}));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, a_call_in_flight_can_be_cancelled_on_the_old_server) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  client.notify("notifications/cancelled", {{"requestId", call}});
  EXPECT_TRUE(wait_gone({old}));
  settle(client);
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, a_call_that_outlasts_the_drain_gets_a_crash_report) {
  Client client(changing({"--build", "true", "--drain", "200ms"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  const json::object answer = client.await(call);
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("sleep"), HasSubstr("may have taken effect")));
  EXPECT_TRUE(wait_gone({old}));
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(Rebuild, a_safe_call_that_outlasts_the_drain_is_retried_on_the_new_server) {
  Client client({.options = {"--build", "true", "--drain", "200ms"},
                 .server = {"--lives", "lives", "--tap", "tap", "--hint", "echo=readOnlyHint", "--life", "1",
                            "--hold", "tools/call"}});
  client.initialize();
  const auto call = client.send_call("echo", {{"text", "hello"}});
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "hello"));
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  const json::object answer = client.await(call);
  EXPECT_FALSE(is_error(answer));
  EXPECT_EQ(own_text(answer), "hello");
}

TEST(Rebuild, the_death_of_a_draining_server_only_affects_its_own_calls) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const auto call = client.send_call("sleep", {{"ms", for_ever}});
  settle(client);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  kill(old, SIGKILL);
  EXPECT_THAT(text_of(client.await(call)), AllOf(HasSubstr("SIGKILL"), HasSubstr("generation 1")));
  EXPECT_EQ(state_of(client).at("life"), 2);
  EXPECT_EQ(status_of(client, "starts"), "2");
}

TEST(Rebuild, calls_are_served_without_a_gap_during_it) {
  Client client(changing({"--build", "cat gate"}));
  Gate gate(client.directory() / "gate");
  client.initialize();
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(gate.wait_for_visitor());
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(own(client, "echo", {{"text", std::to_string(i)}}), std::to_string(i));
  gate.open();
  int served = 0;
  while (client.answers.empty() || served == 0) {
    ASSERT_EQ(own(client, "echo", {{"text", "still"}}), "still");
    ++served;
    if (std::ranges::any_of(client.answers, [&](const json::object& a) { return a.at("id") == rebuild; }))
      break;
  }
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_EQ(state_of(client).at("life"), 2);
}

// ---- What doesn't work.

TEST(Rebuild, a_build_that_fails_shows_its_output_and_the_old_server_still_serves) {
  Client client(changing({"--build", "echo main.cpp:3: error: no cheese; echo and more >&2; exit 2"}));
  client.initialize();
  const pid_t old = server_pid(client);
  const json::object answer = client.call("pivot_rebuild");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("main.cpp:3: error: no cheese"), HasSubstr("and more"),
                                     HasSubstr("code 2"), HasSubstr("Generation 1 is still serving")));
  EXPECT_TRUE(is_running(client, old));
  EXPECT_EQ(state_of(client).at("life"), 1);
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(Rebuild, shows_the_beginning_and_the_end_of_a_long_output) {
  Client client(changing({"--build", "echo the first error; seq 1 100000; echo the last error; exit 1"}));
  client.initialize();
  const std::string text = text_of(client.call("pivot_rebuild"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("the first error"), HasSubstr("the last error"), HasSubstr("bytes omitted")));
  EXPECT_LT(text.size(), 20'000U);
}

TEST(Rebuild, a_new_server_that_does_not_work_never_takes_over) {
  struct Broken {
    Strings how;
    const char* why;
  };
  const std::vector<Broken> all = {
      {{"--die", "start", "--how", "7"}, "code 7"},
      {{"--die", "before-initialize", "--how", "SIGSEGV"}, "SIGSEGV"},
      {{"--die", "tools-list", "--how", "7"}, "code 7"},
      {{"--refuse", "initialize=no cheese"}, "no cheese"},
      {{"--answer", "initialize={}"}, "names no protocolVersion"},
      {{"--answer", "initialize=null"}, "it isn't an object"},
      {{"--answer", R"(initialize={"protocolVersion":"2025-06-18"})"}, "names no capabilities"},
      {{"--refuse", "tools/list=no cheese"}, "tools/list was refused: no cheese"},
      {{"--answer", "tools/list={}"}, "returned no list of tools"},
      {{"--answer", R"(tools/list={"tools":null})"}, "returned no list of tools"},
      {{"--answer", R"(tools/list={"tools":[],"nextCursor":"a"})"}, "doesn't end"},
      {{"--refuse", "prompts/list=no cheese"}, "prompts/list was refused"},
      {{"--hold", "initialize"}, "within"},
      {{"--hold", "tools/list"}, "within"},
      {{"--hold", "initialize", "--ignore-eof", "--ignore-term"}, "within"}};
  for (const Broken& broken : all) {
    SCOPED_TRACE(testing::PrintToString(broken.how));
    Client client(changing({"--build", "true", "--start-timeout", "300ms"}, broken.how));
    client.initialize();
    const pid_t old = server_pid(client);
    const json::object answer = client.call("pivot_rebuild");
    EXPECT_TRUE(is_error(answer));
    EXPECT_THAT(text_of(answer), AllOf(HasSubstr(broken.why), HasSubstr("Generation 1 is still serving")));
    EXPECT_TRUE(is_running(client, old));
    EXPECT_EQ(state_of(client).at("life"), 1);
    // Only the failed generation has ended: one guard, one server.
    EXPECT_TRUE(wait_until([&] { return children_of(client.child().pid()).size() == 2; }, soon()));
    EXPECT_THAT(client.notifications, IsEmpty());
  }
}

TEST(Rebuild, the_stderr_of_a_new_server_that_dies_is_shown) {
  Client client(changing({"--build", "true"}, {"--stderr-flood", "3", "--die", "before-initialize"}));
  client.initialize();
  EXPECT_THAT(text_of(client.call("pivot_rebuild")), HasSubstr("stderr, last lines"));
}

TEST(Rebuild, is_not_offered_without_a_build_command) {
  Client client;
  client.initialize();
  EXPECT_THAT(tools_of(client), AllOf(Not(Contains("pivot_rebuild")), Contains("pivot_restart")));
}

}  // namespace
}  // namespace harness
