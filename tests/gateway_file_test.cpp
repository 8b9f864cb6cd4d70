// The configuration file changes while mcpivot runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Gateway, changing_one_server_in_the_file_does_not_affect_others) {
  Client client(with(two()));
  start(client);
  const std::string alpha = own(client, "alpha__pid");
  json::object servers = two();
  servers.erase("beta");
  servers["gamma"] = server({"--only", "echo"}, {{"active", true}});
  rewrite(client, file_of(servers));
  client.expect_notification("notifications/tools/list_changed");
  wait_ready(client, {"gamma"});
  EXPECT_EQ(own(client, "gamma__echo", {{"text", "new"}}), "new");
  EXPECT_THAT(client.call_text("pivot_status"), Not(HasSubstr("beta")));
  EXPECT_EQ(own(client, "alpha__pid"), alpha);

  // A changed one is swapped.
  servers["gamma"] = server({"--only", "echo,cwd"}, {{"active", true}});
  rewrite(client, file_of(servers));
  EXPECT_TRUE(wait_until([&] { return std::ranges::count(tools_of(client), "gamma__cwd") == 1; }, soon()));
  EXPECT_EQ(own(client, "alpha__pid"), alpha);
}

TEST(Gateway, a_call_of_a_server_removed_from_the_file_may_finish) {
  json::object servers = two();
  Client client(with(servers));
  start(client);
  const auto call =
      client.send_call("pivot_call", {{"tool", "beta__ask"}, {"arguments", {{"method", "roots/list"}}}});
  const json::object question = client.expect_request("roots/list");
  servers.erase("beta");
  rewrite(client, file_of(servers));
  ASSERT_TRUE(wait_until(
      [&] { return client.call_text("pivot_status").find("\nbeta: ") == std::string::npos; }, soon()));
  client.answer(question, {{"roots", json::array()}});
  EXPECT_FALSE(is_error(client.await(call)));
}

TEST(Gateway, a_call_that_outlasts_its_removed_server_gets_an_explanation) {
  json::object servers = two();
  servers["beta"].as_object()["timeouts"] = json::object{{"drain", "50ms"}};
  Client client(with(servers));
  start(client);
  const auto call =
      client.send_call("pivot_call", {{"tool", "beta__sleep"}, {"arguments", {{"ms", for_ever}}}});
  ASSERT_TRUE(wait_until(
      [&] {
        return own(client, "pivot_status", {{"server", "beta"}}).find("in flight: 1") != std::string::npos;
      },
      soon()));
  servers.erase("beta");
  rewrite(client, file_of(servers));
  EXPECT_THAT(text_of(client.await(call)), HasSubstr("because it was removed from the configuration"));
}

TEST(Gateway, a_changed_queue_timeout_applies_to_later_requests) {
  json::object servers = two();
  Client client(with(servers));
  start(client);
  servers["beta"] = server({"--hold", "initialize"},
                           {{"active", true}, {"swap", "stop-first"}, {"timeouts", {{"queue", "100ms"}}}});
  rewrite(client, file_of(servers));
  const auto state = [&] { return own(client, "pivot_status", {{"server", "beta"}}); };
  ASSERT_TRUE(wait_until([&] { return state().find("state: starting") != std::string::npos; }, soon()));
  const std::string answer =
      own(client, "pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "late"}}}});
  EXPECT_THAT(answer, HasSubstr("the request waited 100 ms for it to be ready"));
}

TEST(Gateway, calls_that_the_file_no_longer_lists_under_replay_are_not_repeated) {
  json::object servers = two();
  const auto replaying = [&](json::array tools) {
    servers["alpha"] = server({"--journal", "journal"}, {{"active", true}, {"replay", std::move(tools)}});
    return file_of(servers);
  };
  Client client({.config = replaying({"echo", "count"})});
  start(client);
  own(client, "alpha__count");
  own(client, "alpha__echo", {{"text", "kept"}});
  const std::string first = own(client, "alpha__pid");
  rewrite(client, replaying({"count"}));
  ASSERT_TRUE(wait_until([&] { return own(client, "alpha__pid") != first; }, soon()));
  const Strings lines = lines_of(client.directory() / "journal");
  const auto times = [&](const char* tool) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(tool) != std::string::npos; });
  };
  EXPECT_EQ(times(" count "), 2);
  EXPECT_EQ(times(" echo "), 1);
}

TEST(Gateway, a_start_command_added_to_the_file_starts_the_daemon) {
  const std::string port = std::to_string(free_port());
  json::object servers = two();
  servers["app"] = json::object{{"url", "http://127.0.0.1:" + port + "/mcp"}, {"active", true}};
  Client client(with(servers));
  start(client);
  servers["app"].as_object()["start_command"] =
      "echo $$ > daemon.pid; exec " + fake_daemon_binary() + " --port " + port;
  rewrite(client, file_of(servers));
  ASSERT_TRUE(wait_until([&] { return own(client, "app__echo", {{"text", "up"}}) == "up"; }, soon()));
  kill(std::stoi(content_of(client.directory() / "daemon.pid")), SIGKILL);
}

TEST(Gateway, an_invalid_file_changes_nothing_and_the_model_is_told_where_the_error_is) {
  Client client(with(two()));
  start(client);
  rewrite(client, "{\n  \"mcpServers\": {\n    \"alpha\": }\n}");
  ASSERT_TRUE(wait_until(
      [&] { return text_of(client.call("alpha__echo")).find("mcpivot.json:3:") != std::string::npos; },
      soon()));
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "still"}}), "still");
}

TEST(Gateway, an_error_in_one_server_does_not_remove_the_prefix_of_the_other) {
  json::object servers = two();
  servers["beta"] = json::object{{"command", 7}};
  Client client(with(servers));
  start(client, {"alpha"});
  EXPECT_THAT(tools_of(client), AllOf(Contains("alpha__echo"), Contains("pivot_activate")));
  EXPECT_THAT(text_of(client.call("alpha__echo")), HasSubstr("mcpivot.json:1:"));
}

TEST(Gateway, a_file_without_any_valid_server_still_serves_the_client) {
  Client client({.config = "{ \"mcpServers\": { \"alpha\": { \"command\": 7 } } }"});
  EXPECT_TRUE(client.initialize().contains("result"));
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("servers: 0"));
  rewrite(client, file_of(two()));
  wait_ready(client, {"alpha"});
}

}  // namespace
}  // namespace harness
