// HTTP daemons behind mcpivot: the client's stdio stays, while the daemon comes and goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "daemons.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

json::object misbehave(Client& client, const std::string& how, json::object more = {}) {
  more["how"] = how;
  return client.call("misbehave", more);
}

// The daemon is working on a call of this tool, until it is released.
std::int64_t held_call(Client& client, FakeDaemon& daemon, const std::string& tool,
                       const std::string& life = "1") {
  const std::size_t before = daemon.times(life + " " + tool + " {}");
  const std::int64_t id = client.send_call(tool);
  EXPECT_TRUE(wait_until([&] { return daemon.times(life + " " + tool + " {}") > before; }, soon()));
  return id;
}

// ---- A session.

TEST(HttpSession, messages_pass_both_ways) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  const json::object hello = client.initialize();
  EXPECT_EQ(hello.at("result").at("serverInfo").at("name"), "fake-daemon");
  EXPECT_THAT(tools_of(client), AllOf(Contains("echo"), Contains("pivot_status")));
  EXPECT_EQ(client.call_text("echo", {{"text", "hi"}}), "hi");
  EXPECT_EQ(client.call_text("events", {{"text", "by event"}}), "by event");
  EXPECT_EQ(client.expect_notification("notifications/message").at("params").at("data"), "first");
}

TEST(HttpSession, a_request_from_the_daemon_reaches_the_client_and_its_answer_returns) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  ASSERT_TRUE(wait_status(client, "own stream", "open"));
  const std::int64_t id = client.send_call("ask");
  client.answer(client.expect_request("roots/list"), {{"roots", json::array{}}});
  EXPECT_EQ(text_of(client.await(id)), R"({"jsonrpc":"2.0","id":"q","result":{"roots":[]}})");
}

TEST(HttpSession, many_calls_can_be_in_flight_at_once) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  std::vector<std::int64_t> held;
  for (int i = 0; i < 40; ++i) held.push_back(client.send_call("hold"));
  ASSERT_TRUE(wait_until([&] { return daemon.times("1 hold {}") == 40; }, soon()));
  EXPECT_EQ(client.call_text("echo", {{"text", "meanwhile"}}), "meanwhile");
  EXPECT_EQ(client.call_text("release"), "40");
  for (const std::int64_t id : held) EXPECT_EQ(text_of(client.await(id)), "released");
}

TEST(HttpSession, ends_with_a_delete_and_the_daemon_keeps_running) {
  FakeDaemon daemon;
  {
    Client client(to(daemon.url()));
    client.initialize();
    client.child().close_stdin();
    EXPECT_EQ(client.child().wait_exit(soon()), 0);
  }
  EXPECT_TRUE(daemon.wait_journal("1 DELETE "));
  EXPECT_TRUE(process_alive(daemon.pid()));
}

TEST(HttpSession, works_without_an_id_and_without_a_stream) {
  const FakeDaemon daemon({"--no-session", "--no-stream"});
  Client client(to(daemon.url()));
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "plain"}}), "plain");
}

TEST(HttpSession, a_cancellation_reaches_the_daemon) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  const std::int64_t id = held_call(client, daemon, "hold");
  client.notify("notifications/cancelled", {{"requestId", id}});
  EXPECT_TRUE(wait_until(
      [&] {
        const Strings journal = daemon.journal();
        return std::ranges::any_of(journal, [](const std::string& line) {
          return line.find("notifications/cancelled") != std::string::npos;
        });
      },
      soon()));
  client.call("release");
  EXPECT_EQ(client.call_text("echo", {{"text", "on"}}), "on");
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(HttpSession, a_daemon_of_the_old_transport_is_recognised_and_served) {
  FakeDaemon daemon({"--old"});
  Client client(to(daemon.url("/sse")));
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "old"}}), "old");
  EXPECT_THAT(status_of(client, "transport"), HasSubstr("2024-11-05"));
  daemon.restart();
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
}

TEST(HttpSession, status_has_no_duplicates_and_does_not_call_a_sessions_end_a_kill) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  client.call("echo");
  client.call("pivot_restart");
  ASSERT_TRUE(wait_status(client, "draining", "0"));
  EXPECT_EQ(status_of(client, "sessions"), "2");
  EXPECT_EQ(status_of(client, "sessions lost"), "0");
  std::istringstream lines(client.call_text("pivot_status"));
  std::vector<std::string> keys;
  for (std::string line; std::getline(lines, line);) keys.push_back(line.substr(0, line.find(':')));
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
  EXPECT_THAT(keys, AllOf(Contains("transport"), Contains("session"), Contains("connections")));
  EXPECT_THAT(keys, Not(Contains(HasSubstr("kill"))));
  EXPECT_THAT(keys, AllOf(Contains("session age"), Not(Contains("uptime"))));
}

TEST(HttpSession, redirects_on_the_same_origin_are_followed) {
  const FakeDaemon daemon({"--redirect", "/elsewhere?x=1"});
  Client client(to(daemon.url()));
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "there"}}), "there");
}

// Otherwise it would wait for the very call that waits for it.
TEST(HttpSession, a_redirected_answer_to_the_daemon_waits_for_no_call) {
  FakeDaemon daemon({"--redirect", "/elsewhere"});
  Client client(to(daemon.url()));
  client.initialize();
  ASSERT_TRUE(wait_status(client, "own stream", "open"));
  const std::int64_t id = client.send_call("ask");
  const json::object question = client.expect_request("roots/list");
  constexpr std::size_t fill_all_connections = 126;  // of 128, with the call and the stream
  for (std::size_t i = 0; i < fill_all_connections; ++i) client.send_call("hold");
  ASSERT_TRUE(wait_until([&] { return daemon.times("1 hold {}") == fill_all_connections; }, soon()));
  client.answer(question, {{"roots", json::array{}}});
  EXPECT_FALSE(is_error(client.await(id)));
}

// ---- The daemon goes away and returns.

TEST(HttpDaemonAway, waiting_requests_are_answered_in_order_when_it_is_back) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  daemon.kill();
  std::vector<std::int64_t> sent;
  for (int i = 0; i < 20; ++i) sent.push_back(client.send_call("echo", {{"text", std::to_string(i)}}));
  ASSERT_TRUE(wait_status(client, "waiting", "20"));
  EXPECT_THAT(status_of(client, "connection"), StartsWith("away for"));
  EXPECT_THAT(status_of(client, "last error"), HasSubstr("refused"));
  daemon.start();
  // The daemon has many threads: the first answer carries the notice, whichever call it belongs to.
  Strings notices;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const json::object answer = client.await(sent[i]);
    EXPECT_EQ(own_text(answer), std::to_string(i));
    if (blocks(answer) > 1) notices.push_back(text_of(answer));
  }
  EXPECT_THAT(notices, ElementsAre(AllOf(HasSubstr("is back after"), HasSubstr("unchanged"))));
  EXPECT_EQ(status_of(client, "reconnects"), "1");
}

TEST(HttpDaemonAway, changes_in_what_it_offers_are_announced) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  daemon.restart({"--tool", "brand_new"});
  const json::object answer = client.call("echo", {{"text", "x"}});
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(text_of(answer), HasSubstr("+brand_new"));
  EXPECT_THAT(tools_of(client), Contains("brand_new"));
}

TEST(HttpDaemonAway, at_startup_is_reported_to_the_client_and_its_tools_follow_later) {
  const int port = free_port();
  Client client(to("http://127.0.0.1:" + std::to_string(port) + "/mcp"));
  const json::object hello = client.initialize();
  EXPECT_THAT(json::serialize(hello), HasSubstr("refused"));
  EXPECT_THAT(tools_of(client), Not(Contains("echo")));
  const std::int64_t id = client.send_call("echo", {{"text", "early"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  const FakeDaemon daemon(port, {});
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_EQ(own_text(client.await(id)), "early");
  EXPECT_THAT(tools_of(client), Contains("echo"));
}

TEST(HttpDaemonAway, texts_do_not_mention_pivot_logs_without_access_to_a_log) {
  Client client(to("http://127.0.0.1:" + std::to_string(free_port()) + "/mcp", {"--queue-timeout", "10m"}));
  const json::object hello = client.initialize();
  EXPECT_THAT(std::string(hello.at("result").at("instructions").as_string()),
              AllOf(HasSubstr("pivot_status"), Not(HasSubstr("pivot_logs"))));
  // Immediately, although requests for the daemon itself wait for it.
  EXPECT_THAT(text_of(client.call("pivot_logs")),
              AllOf(HasSubstr("mcpivot did not start the server"),
                    HasSubstr("mcpivot's own tools here: pivot_restart, pivot_status.")));
}

TEST(HttpDaemonAway, a_request_that_waits_too_long_gets_the_reason) {
  FakeDaemon daemon;
  Client client(to(daemon.url(), {"--queue-timeout", "300ms"}));
  client.initialize();
  daemon.kill();
  const json::object answer = client.call("echo");
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("is away"), HasSubstr("refused")));
}

TEST(HttpDaemonAway, a_new_request_causes_an_immediate_retry) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  daemon.kill();
  // Long enough for the back-off to be at seconds.
  ASSERT_TRUE(
      wait_until([&] { return status_of(client, "connection").starts_with("away for 4"); }, in(seconds(10))));
  daemon.start();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(own(client, "echo", {{"text", "now"}}), "now");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1) * (is_instrumented() ? 5 : 1));
}

TEST(HttpDaemonAway, a_gateway_error_counts_as_away) {
  for (const char* status : {"502", "503", "504"}) {
    FakeDaemon daemon;
    Client client(to(daemon.url()));
    client.initialize();
    daemon.restart({"--status", status});
    const std::int64_t id = client.send_call("read", {{"text", "x"}});
    ASSERT_TRUE(wait_status(client, "waiting", "1")) << status;
    EXPECT_THAT(status_of(client, "last error"), HasSubstr(status));
    daemon.restart();
    EXPECT_EQ(own_text(client.await(id)), "x");
  }
}

TEST(HttpDaemonAway, the_calls_listed_under_replay_are_repeated) {
  FakeDaemon daemon({"--tool", "device"});
  Client client(to(daemon.url(), {"--replay", "device"}));
  client.initialize();
  client.call("device", {{"id", 7}});
  client.request("logging/setLevel", {{"level", "error"}});
  daemon.restart();
  EXPECT_EQ(own(client, "echo", {{"text", "x"}}), "x");
  EXPECT_EQ(daemon.times(R"(2 device {"id":7})"), 1u);
}

// ---- Promise 5.

TEST(HttpPromise5, a_call_in_flight_when_the_daemon_dies_is_not_silently_retried) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  const std::int64_t unsafe = held_call(client, daemon, "hold");
  const std::int64_t safe = held_call(client, daemon, "hold_read");
  daemon.restart();
  const json::object answer = client.await(unsafe);
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("Outcome unknown"), HasSubstr("\"hold\"")));
  ASSERT_TRUE(daemon.wait_journal("2 hold_read {}"));
  client.call("release");
  EXPECT_EQ(own_text(client.await(safe)), "released");
  EXPECT_EQ(daemon.times("1 hold {}") + daemon.times("2 hold {}"), 1u);
}

TEST(HttpPromise5, a_broken_connection_loses_one_call_but_not_the_session) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  const std::int64_t held = held_call(client, daemon, "hold");
  for (const char* how : {"close", "reset", "cut"}) {
    const json::object answer = misbehave(client, how);
    EXPECT_TRUE(is_error(answer));
    EXPECT_THAT(text_of(answer), HasSubstr("Outcome unknown")) << how;
    EXPECT_EQ(daemon.times(std::string(R"(1 misbehave {"how":")") + how + "\"}"), 1u);
  }
  client.call("release");
  EXPECT_EQ(own_text(client.await(held)), "released");
  EXPECT_EQ(status_of(client, "generation"), "1");
}

TEST(HttpPromise5, a_response_whose_stream_broke_is_resumed) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  EXPECT_EQ(text_of(misbehave(client, "resume")), "resumed");
  EXPECT_EQ(text_of(misbehave(client, "resume", {{"cleanly", true}, {"retry", 10}})), "resumed");
  EXPECT_EQ(text_of(misbehave(client, "resume", {{"cleanly", true}, {"retry", 10}, {"polls", 8}})),
            "resumed");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(text_of(misbehave(client, "resume", {{"retry", 400}})), "resumed");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(400));
}

// ---- A session that the daemon forgot.

TEST(HttpForgotten, a_forgotten_session_is_replaced_without_the_client_noticing) {
  for (const Strings& options : {Strings{}, Strings{"--bad-request"}, Strings{"--no-stream"}}) {
    const FakeDaemon daemon(options);
    Client client(to(daemon.url()));
    client.initialize();
    misbehave(client, "forget");
    const json::object answer = client.call("echo", {{"text", "who am I?"}});
    EXPECT_EQ(blocks(answer), 1u) << text_of(answer);
    EXPECT_EQ(text_of(answer), "who am I?");
    EXPECT_EQ(daemon.times(R"(1 echo {"text":"who am I?"})"), 1u);
    EXPECT_THAT(client.notifications, IsEmpty());
  }
}

TEST(HttpForgotten, a_list_that_differs_in_the_new_session_is_announced) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  misbehave(client, "new tool");
  misbehave(client, "forget");
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("+brand_new"));
  client.expect_notification("notifications/tools/list_changed");
}

TEST(HttpForgotten, repeatedly_is_eventually_reported) {
  const FakeDaemon daemon({"--forgetful", "--no-stream"});
  Client client(to(daemon.url()));
  client.initialize();
  const json::object answer = client.call("echo", {{"text", "x"}}, in(seconds(20)));
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("no longer knows our session"), HasSubstr("had no effect")));
  EXPECT_EQ(daemon.times(R"(1 echo {"text":"x"})"), 0u);
}

TEST(HttpForgotten, the_stream_for_the_daemons_own_messages_is_reopened) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  ASSERT_TRUE(wait_status(client, "own stream", "open"));
  misbehave(client, "break stream");
  ASSERT_TRUE(wait_until([&] { return daemon.times("1 GET ") == 2; }, soon()));
  ASSERT_TRUE(wait_status(client, "own stream", "open"));
  const std::int64_t id = client.send_call("ask");
  client.answer(client.expect_request("roots/list"), {{"roots", json::array{}}});
  EXPECT_FALSE(is_error(client.await(id)));
}

// ---- Bad input: an error for the one call that it affects.

TEST(HttpBadInput, is_an_error_only_for_the_call_it_concerns) {
  FakeDaemon daemon;
  Client client(to(daemon.url(), {"--max-message", "1000000"}));
  client.initialize();
  const std::int64_t held = held_call(client, daemon, "hold");
  const std::vector<std::pair<std::string, std::string>> cases{{"html", "text/html"},
                                                               {"not json", "isn't an MCP message"},
                                                               {"empty", "its answer is empty"},
                                                               {"accepted", "without an answer"},
                                                               {"other id", "a request that wasn't made"},
                                                               {"rpc error", "a reason"},
                                                               {"endless", "--max-message"},
                                                               {"no http", "isn't HTTP"},
                                                               {"long header", "isn't HTTP"},
                                                               {"loop", "in circles"},
                                                               {"elsewhere", "another server"}};
  for (const auto& [how, words] : cases) {
    const json::object answer = misbehave(client, how);
    EXPECT_TRUE(is_error(answer)) << how;
    EXPECT_THAT(text_of(answer), HasSubstr(words)) << how;
  }
  EXPECT_THAT(text_of(misbehave(client, "status", {{"code", 500}})),
              AllOf(HasSubstr("500"), HasSubstr("I was told")));
  EXPECT_THAT(text_of(misbehave(client, "status", {{"code", 418}})), HasSubstr("418"));
  client.call("release");
  EXPECT_EQ(own_text(client.await(held)), "released");
  EXPECT_EQ(status_of(client, "generation"), "1");
}

TEST(HttpBadInput, an_event_of_100_MB_is_an_error_and_uses_no_memory) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  const json::object answer =
      client.call("misbehave", {{"how", "big event"}, {"bytes", 100'000'000}}, in(seconds(30)));
  EXPECT_THAT(text_of(answer), HasSubstr("over the limit"));
  EXPECT_LT(peak_rss_kb(client.child().pid()), is_instrumented() ? 1'000'000 : 60'000);
  EXPECT_EQ(client.call_text("echo", {{"text", "fine"}}), "fine");
}

TEST(HttpSession, a_client_that_does_not_read_stops_the_daemon_without_filling_memory) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  client.child().pause_reading(true);
  const std::int64_t id = client.send_call("flood", {{"count", 1000}});
  ASSERT_TRUE(wait_until([&] { return daemon.times(R"(1 flood {"count":1000})") == 1; }, soon()));
  ASSERT_TRUE(wait_at_rest({client.child().pid(), daemon.pid()}, soon()));
  EXPECT_LT(peak_rss_kb(client.child().pid()), is_instrumented() ? 1'000'000 : 40'000);
  client.child().pause_reading(false);
  EXPECT_EQ(text_of(client.await(id, in(seconds(30)))), "flooded");
  EXPECT_THAT(client.notifications, SizeIs(1000));
}

// The kernel's view of our connections: a timer of kind 2 is the one for keep-alive, in hundredths of a
// second.
TEST(HttpSession, keepalive_detects_a_dead_peer_within_30_s) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  ASSERT_TRUE(wait_status(client, "own stream", "open"));
  std::ostringstream port;
  port << std::hex << std::uppercase << std::setw(4) << std::setfill('0') << daemon.port();
  int seen = 0;
  for (const std::string& line : lines_of("/proc/net/tcp")) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer;
    words >> number >> local >> remote >> state >> queues >> timer;
    if (!remote.ends_with(":" + port.str()) || state != "01") continue;
    ++seen;
    EXPECT_THAT(timer, StartsWith("02:"));
    EXPECT_LE(std::stoul(timer.substr(3), nullptr, 16), 1000u) << "and then 3 probes, 5 s apart";
  }
  EXPECT_GT(seen, 0);
}

TEST(HttpBadInput, unusual_but_valid_input_is_accepted) {
  const FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  EXPECT_EQ(text_of(misbehave(client, "pretty")), "too good");
  EXPECT_EQ(text_of(misbehave(client, "split")), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(text_of(misbehave(client, "move")), "too good");
}

TEST(HttpBadInput, a_host_that_does_not_exist_is_reported) {
  Client client(to("http://no-such-host.invalid/mcp"));
  EXPECT_THAT(json::serialize(client.initialize()), HasSubstr("name can't be resolved"));
}

// ---- Credentials.

TEST(HttpCredentials, headers_are_sent_and_their_values_never_shown) {
  const FakeDaemon daemon({"--header", "Authorization: Bearer t0ps3cret"});
  ClientOptions options = to(daemon.url(), {"--header", "Authorization: Bearer ${APP_TOKEN}", "--log-level",
                                            "trace", "--log", "log"});
  options.environment = {{"APP_TOKEN", "t0ps3cret"}};
  Client client(options);
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "in"}}), "in");
  EXPECT_THAT(client.call_text("pivot_status"), Not(HasSubstr("t0ps3cret")));
  EXPECT_THAT(content_of(client.directory() / "log"), AllOf(HasSubstr("echo"), Not(HasSubstr("t0ps3cret"))));
  EXPECT_THAT(client.child().stderr_text(), Not(HasSubstr("t0ps3cret")));
}

TEST(HttpCredentials, that_are_rejected_are_named_by_header_and_variable) {
  const FakeDaemon daemon({"--header", "Authorization: Bearer t0ps3cret"});
  ClientOptions options = to(daemon.url(), {"--header", "Authorization: Bearer ${APP_TOKEN}"});
  options.environment = {{"APP_TOKEN", "wr0ng"}};
  Client client(options);
  EXPECT_THAT(json::serialize(client.initialize()), AllOf(HasSubstr("401"), HasSubstr("Authorization"),
                                                          HasSubstr("APP_TOKEN"), Not(HasSubstr("wr0ng"))));
}

TEST(HttpCredentials, an_unset_variable_is_named) {
  const FakeDaemon daemon;
  Client client(to(daemon.url(), {"--header", "Authorization: Bearer ${NOT_THERE_AT_ALL}"}));
  EXPECT_THAT(json::serialize(client.initialize()), HasSubstr("NOT_THERE_AT_ALL"));
}

}  // namespace
}  // namespace harness
