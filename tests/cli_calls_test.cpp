// Calls of a CLI while they run: progress, cancellation, timeouts, many at once, and programs that
// misbehave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_tools.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const json::object file_parameter{{"file", any_string}};

// The process that wrote its pid there.
pid_t pid_in(const fs::path& file) {
  EXPECT_TRUE(wait_until([&] { return !lines_of(file).empty(); }, soon()));
  const Strings lines = lines_of(file);
  return lines.empty() ? 0 : std::stoi(lines.front());
}

bool wait_for_calls(Client& client, const std::string& words) {
  return wait_until([&] { return status_of(client, "runs").find(words) != std::string::npos; }, soon());
}

TEST(CliCalls, lines_on_stderr_become_progress_notifications) {
  const FakeCli cli({cli_tool("steps", {"steps", "{gates}"}, {{"gates", {{"type", "array"}}}})});
  Client client = cli.client({"--result-args", ""});
  client.initialize();
  Gate one(client.directory() / "one");
  Gate two(client.directory() / "two");
  const std::int64_t id = send_with_token(client, "steps", {{"gates", {"one", "two"}}});
  const json::object first = client.expect_notification("notifications/progress");
  EXPECT_EQ(first.at("params"),
            (json::object{{"progressToken", "mine"}, {"progress", 1}, {"message", "at one"}}));
  ASSERT_TRUE(one.wait_for_visitor());
  one.open();
  const json::object second = client.expect_notification("notifications/progress");
  EXPECT_EQ(second.at("params").at("progress"), 2);
  EXPECT_EQ(second.at("params").at("message"), "at two");
  ASSERT_TRUE(two.wait_for_visitor());
  two.open();
  EXPECT_FALSE(is_error(client.await(id)));
  EXPECT_THAT(client.call_text("pivot_logs"),
              AllOf(HasSubstr("steps: at one\n"), HasSubstr("steps: at two\n")));
}

TEST(CliCalls, without_a_token_there_is_no_progress) {
  const FakeCli cli({cli_tool("fail", {"fail", "0"})});
  Client client = cli.client();
  client.initialize();
  client.call("fail");
  client.request("ping");
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(CliCalls, a_cancelled_call_ends_with_all_its_processes_and_is_not_answered) {
  const FakeCli cli(
      {cli_tool("stubborn", {"stubborn", "{file}"}, file_parameter), cli_tool("fail", {"fail", "0"})});
  Client client = cli.client();
  client.initialize();
  const std::int64_t id = client.send_call("stubborn", {{"file", "pid"}});
  const pid_t leader = pid_in(client.directory() / "pid");
  EXPECT_TRUE(wait_until([&] { return processes_in_group(leader).size() == 2; }, soon()));
  client.notify("notifications/cancelled", {{"requestId", id}});
  EXPECT_TRUE(wait_until([&] { return processes_in_group(leader).empty(); }, soon()))
      << "it ignores SIGTERM, so it must be killed";
  EXPECT_FALSE(is_error(client.call("fail")));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(CliCalls, a_call_that_takes_too_long_is_ended_and_reported) {
  const FakeCli cli({cli_tool("own", {"wait", "never", "began"}, {}, {{"timeout", 0.2}}),
                     cli_tool("usual", {"wait", "never", "began"}),
                     cli_tool("stubborn", {"stubborn", "{file}"}, file_parameter, {{"timeout", "200ms"}})});
  Client client = cli.client({"--call-timeout", "300ms"});
  client.initialize();
  const Gate never(client.directory() / "never");
  const json::object own_limit = client.call("own");
  EXPECT_TRUE(is_error(own_limit));
  EXPECT_THAT(text_of(own_limit), AllOf(HasSubstr("was stopped after 200 ms"),
                                        HasSubstr("\"timeout\" in its schema"), HasSubstr("began")));
  const json::object usual_limit = client.call("usual");
  EXPECT_TRUE(is_error(usual_limit));
  EXPECT_THAT(text_of(usual_limit),
              AllOf(HasSubstr("was stopped after 300 ms"), HasSubstr("--call-timeout")));
  EXPECT_TRUE(is_error(client.call("stubborn", {{"file", "pid"}})));
  EXPECT_THAT(processes_in_group(pid_in(client.directory() / "pid")), IsEmpty());
}

TEST(CliCalls, processes_that_a_call_leaves_behind_end_with_it) {
  const FakeCli cli({cli_tool("leave", {"leave-child", "{file}"}, file_parameter)});
  Client client = cli.client();
  client.initialize();
  EXPECT_EQ(own(client, "leave", {{"file", "pid"}}), "left");
  EXPECT_TRUE(wait_gone({pid_in(client.directory() / "pid")}));
}

TEST(CliCalls, a_child_that_left_the_group_does_not_delay_the_response) {
  const FakeCli cli({cli_tool("lose", {"lose-child", "{file}"}, file_parameter)});
  Client client = cli.client();
  client.initialize();
  EXPECT_EQ(own(client, "lose", {{"file", "pid"}}), "left");
  const pid_t fled = pid_in(client.directory() / "pid");
  EXPECT_TRUE(process_alive(fled)) << "what left the group on purpose is not ours";
  kill(fled, SIGKILL);
}

TEST(CliCalls, no_call_outlives_mcpivot) {
  const FakeCli cli({cli_tool("stubborn", {"stubborn", "{file}"}, file_parameter)});
  for (const bool killed : {false, true}) {
    Client client = cli.client();
    client.initialize();
    client.send_call("stubborn", {{"file", "pid"}});
    const pid_t leader = pid_in(client.directory() / "pid");
    if (killed) {
      kill(client.child().pid(), SIGKILL);
    } else {
      client.child().close_stdin();
    }
    EXPECT_TRUE(client.child().wait_exit(soon()));
    EXPECT_TRUE(wait_until([&] { return processes_in_group(leader).empty(); }, soon()));
  }
}

// How many ran at the same time, at most.
int most_at_once(const fs::path& file) {
  int there = 0;
  int most = 0;
  for (const char c : content_of(file)) most = std::max(most, there += c == '+' ? 1 : -1);
  EXPECT_EQ(there, 0);
  return most;
}

TEST(CliCalls, two_hundred_calls_at_once_all_succeed_within_the_limit) {
  const FakeCli cli({cli_tool("crowd", {"crowd", "there"})});
  Client client = cli.client({"--jobs", "5"});
  client.initialize();
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(client.send_call("crowd"));
  for (const std::int64_t id : ids) {
    const json::object answer = client.await(id, in(std::chrono::seconds(60)));
    EXPECT_FALSE(is_error(answer)) << text_of(answer).substr(0, 500);
  }
  EXPECT_LE(most_at_once(client.directory() / "there"), 5);
  EXPECT_GE(most_at_once(client.directory() / "there"), 2) << "they should run side by side";
  EXPECT_EQ(status_of(client, "runs"), "200, at most 5 at once");
  EXPECT_LT(open_fds(client.child().pid()), 40U);
}

TEST(CliCalls, waiting_calls_run_in_order_and_can_be_cancelled) {
  const FakeCli cli(
      {cli_tool("wait", {"wait", "{file}", "{name}"}, {{"file", any_string}, {"name", any_string}})});
  Client client = cli.client({"--jobs", "1"});
  client.initialize();
  Gate gate(client.directory() / "gate");
  const auto send = [&](const char* name) {
    return client.send_call("wait", {{"file", "gate"}, {"name", name}});
  };
  const std::int64_t first = send("first");
  ASSERT_TRUE(gate.wait_for_visitor());
  const std::int64_t second = send("second");
  const std::int64_t third = send("third");
  EXPECT_TRUE(wait_for_calls(client, "1 running, 2 waiting"));
  client.notify("notifications/cancelled", {{"requestId", second}});
  EXPECT_TRUE(wait_for_calls(client, "1 running, 1 waiting"));
  gate.open();
  EXPECT_EQ(own_text(client.await(first)), "waited");
  ASSERT_TRUE(gate.wait_for_visitor());
  gate.open();
  EXPECT_EQ(own_text(client.await(third)), "waited");
  EXPECT_THAT(client.call_text("pivot_logs"), Not(HasSubstr("second")));
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(CliCalls, a_client_that_does_not_read_blocks_new_calls_and_gets_all_responses_later) {
  const FakeCli cli({cli_tool("flood", {"flood", "500000"})});
  Client client = cli.client();
  client.initialize();
  client.child().pause_reading(true);
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 60; ++i) ids.push_back(client.send_call("flood"));
  EXPECT_TRUE(wait_at_rest({client.child().pid()}, soon()));
  EXPECT_LT(rss_kb(client.child().pid()), is_instrumented() ? 400'000 : 60'000);
  client.child().pause_reading(false);
  for (const std::int64_t id : ids) {
    const json::object answer = client.await(id, in(std::chrono::seconds(60)));
    EXPECT_FALSE(is_error(answer)) << text_of(answer).substr(0, 500);
  }
}

}  // namespace
}  // namespace harness
