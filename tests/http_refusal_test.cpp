// HTTP daemons that run but refuse: no request waits for them as it would for one that is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons.h"
#include "gateways.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Waiting for it would take longer than any test.
ClientOptions patient(const std::string& url, Strings more = {}) {
  more.insert(more.end(), {"--queue-timeout", "10m"});
  return to(url, std::move(more));
}

std::string refused_call(Client& client) {
  const json::object answer = client.call("echo", {{"text", "hi"}});
  EXPECT_TRUE(is_error(answer));
  return text_of(answer);
}

// For longer than the pauses of a retry loop with back-off.
bool is_left_alone(Client& client) {
  constexpr std::string_view words = "refused by the server ";
  return wait_until(
      [&] {
        const std::string connection = status_of(client, "connection");
        return connection.starts_with(words) && std::stod(connection.substr(words.size())) >= 1;
      },
      soon());
}

TEST(HttpRefusal, missing_credentials_are_reported_to_each_call_at_once) {
  const FakeDaemon daemon({"--header", "Authorization: Bearer t0ps3cret"});
  Client client(patient(daemon.url()));
  EXPECT_THAT(json::serialize(client.initialize()), HasSubstr("401"));
  EXPECT_THAT(
      refused_call(client),
      AllOf(HasSubstr("[mcpivot] server \"app\" can't be used: the server rejected `initialize`: it "
                      "answered 401 Fake: who are you? It wants credentials"),
            HasSubstr("--header \"Authorization: Bearer ${TOKEN}\""), HasSubstr("\"headers\""),
            HasSubstr("The request was not sent; the next one tries again."), Not(HasSubstr("away"))));
  EXPECT_EQ(status_of(client, "state"), "failed");
}

// Its tools aren't known, but that doesn't mean that they don't exist.
TEST(HttpRefusal, a_call_of_one_of_several_servers_gets_the_reason_and_tries_again) {
  const FakeDaemon daemon({"--header", "Authorization: Bearer t0ps3cret"});
  Client client(with({{"app", {{"url", daemon.url()}, {"active", true}}},
                      {"other", server({"--only", "echo"}, {{"active", true}})}}));
  client.initialize();
  tools_of(client);
  const std::size_t before = daemon.times("1 turned away 401");
  EXPECT_THAT(text_of(client.call("pivot_call", {{"tool", "app__echo"}})),
              AllOf(HasSubstr("[mcpivot] server \"app\" can't be used: the server rejected `initialize`"),
                    HasSubstr("set an Authorization header")));
  EXPECT_THAT(text_of(client.call("app__echo")), HasSubstr("server \"app\" can't be used"));
  EXPECT_EQ(daemon.times("1 turned away 401"), before + 2);
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "book a flight to Lisbon"}}),
              HasSubstr("Not available, so its tools aren't known: app (the server rejected `initialize`"));
}

TEST(HttpRefusal, is_retried_by_each_call_and_not_in_a_loop) {
  const FakeDaemon daemon({"--header", "Authorization: Bearer t0ps3cret"});
  Client client(patient(daemon.url()));
  client.initialize();
  ASSERT_TRUE(is_left_alone(client));
  EXPECT_EQ(daemon.times("1 turned away 401"), 1u);
  refused_call(client);
  refused_call(client);
  ASSERT_TRUE(is_left_alone(client));
  EXPECT_EQ(daemon.times("1 turned away 401"), 3u);
}

// It is waited for, since it may recover, but it needn't be started.
TEST(HttpRefusal, a_daemon_that_answers_with_a_server_error_is_not_reported_as_away) {
  const FakeDaemon daemon({"--status", "500"});
  Client client(to(daemon.url(), {"--queue-timeout", "1s"}));
  client.initialize();
  EXPECT_THAT(refused_call(client),
              AllOf(HasSubstr("server \"app\" can't be used: the request waited 1 s for it to be ready; the "
                              "server rejected `initialize`: it answered 500"),
                    HasSubstr("Next: try again later; mcpivot reconnects by itself."), Not(HasSubstr("away")),
                    Not(HasSubstr("start it"))));
  EXPECT_EQ(status_of(client, "state"), "failed");
}

TEST(HttpRefusal, a_daemon_that_accepts_us_again_gets_the_next_call) {
  FakeDaemon daemon;
  Client client(patient(daemon.url()));
  client.initialize();
  daemon.restart({"--status", "403"});
  EXPECT_THAT(refused_call(client), HasSubstr("403"));
  daemon.restart();
  EXPECT_EQ(own(client, "echo", {{"text", "in"}}), "in");
}

TEST(HttpRefusal, requests_wait_for_a_daemon_that_refused_and_then_went_away) {
  FakeDaemon daemon({"--header", "Authorization: Bearer t0ps3cret"});
  Client client(patient(daemon.url(), {"--header", "Authorization: Bearer wr0ng"}));
  client.initialize();
  EXPECT_THAT(refused_call(client),
              AllOf(HasSubstr("401"), HasSubstr("Authorization"), Not(HasSubstr("wr0ng"))));
  const int port = daemon.port();
  daemon.kill();
  const std::int64_t id = client.send_call("echo", {{"text", "patient"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  const FakeDaemon open(port, {});
  EXPECT_EQ(own_text(client.await(id)), "patient");
}

TEST(HttpRefusal, an_address_without_mcp_is_reported_at_once) {
  const FakeDaemon daemon({"--status", "404", "--no-stream"});
  Client client(patient(daemon.url()));
  client.initialize();
  EXPECT_THAT(refused_call(client), AllOf(HasSubstr("404"), HasSubstr(daemon.url()), HasSubstr("--url"),
                                          HasSubstr("\"url\""), Not(HasSubstr("away"))));
}

// Nothing was sent, and time alone changes nothing.
TEST(HttpRefusal, a_missing_variable_is_reported_with_what_to_do_and_no_promise_to_reconnect) {
  const FakeDaemon daemon;
  Client client(to(daemon.url(), {"--header", "Authorization: Bearer ${MCPIVOT_TEST_UNSET}"}));
  client.initialize();
  const std::string said = refused_call(client);
  EXPECT_THAT(said, HasSubstr("server \"app\" can't be used: "));
  EXPECT_THAT(said,
              testing::EndsWith("the header Authorization needs the environment variable MCPIVOT_TEST_UNSET, "
                                "which is not set; set it where mcpivot is started"));
}

TEST(HttpRefusal, a_handshake_rejected_in_both_eras_is_reported_with_the_servers_message) {
  const FakeDaemon daemon({"--reject", "Unsupported protocol version: 2025-11-25", "--no-stream"});
  Client client(patient(daemon.url()));
  client.initialize();
  EXPECT_THAT(refused_call(client), AllOf(HasSubstr("the server rejected `initialize`: Unsupported protocol "
                                                    "version: 2025-11-25."),
                                          Not(HasSubstr("away"))));
  ASSERT_TRUE(is_left_alone(client));
  // Once in each era, for the client's handshake and for the call.
  EXPECT_EQ(daemon.times("1 turned away Unsupported protocol version: 2025-11-25"), 4u);
}

TEST(HttpRefusal, many_calls_waiting_for_one_attempt_all_get_its_error) {
  FakeDaemon daemon;
  Client client(patient(daemon.url()));
  client.initialize();
  daemon.kill();
  std::vector<std::int64_t> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(client.send_call("echo", {{"text", "x"}}));
  ASSERT_TRUE(wait_status(client, "waiting", "5"));
  daemon.start({"--status", "401"});
  for (const std::int64_t id : waiting) EXPECT_THAT(text_of(client.await(id)), HasSubstr("401"));
}

}  // namespace
}  // namespace harness
