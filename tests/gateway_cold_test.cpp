// Servers that start for the first time, about which nothing is known: mcpivot doesn't deny what they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"
#include "serves.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// One that is slow to start.
json::object slow(json::object more = {}) {
  return server({"--name", "slow", "--delay", "initialize=700", "--only", "echo,sleep"}, std::move(more));
}
// One that never gets ready.
json::object silent(json::object more = {}) {
  return server({"--hold", "initialize"}, std::move(more));
}

// Longer than any request waits for servers that start.
Deadline at_last() {
  return in(seconds(20));
}

TEST(ColdGateway, a_list_contains_the_tools_of_active_servers_that_are_starting) {
  Client client(with({{"slow", slow({{"active", true}})}, {"other", server({})}}));
  client.initialize();
  EXPECT_THAT(tools_of(client), Contains("slow__echo"));
}

TEST(ColdGateway, the_handshake_waits_for_no_server) {
  Client client(with({{"slow", silent({{"active", true}})}, {"other", silent()}}));
  client.initialize();
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("slow: active, starting"));
}

TEST(ColdGateway, a_search_finds_the_tools_of_servers_that_are_starting) {
  Client client(with({{"slow", slow()}, {"other", server({"--only", "none"})}}));
  client.initialize();
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "answers with the text"}}),
              AllOf(HasSubstr("slow__echo (inactive"), Not(HasSubstr("starting"))));
}

TEST(ColdGateway, a_call_reaches_a_server_that_is_starting) {
  Client client(with({{"slow", slow()}, {"other", server({})}}));
  client.initialize();
  EXPECT_EQ(own(client, "pivot_call", {{"tool", "slow__echo"}, {"arguments", {{"text", "through"}}}}),
            "through");
}

TEST(ColdGateway, a_tool_of_an_active_server_that_is_starting_can_be_called_by_name) {
  Client client(with({{"slow", slow({{"active", true}})}, {"other", silent()}}));
  client.initialize();
  EXPECT_EQ(own(client, "slow__echo", {{"text", "direct"}}), "direct");
}

TEST(ColdGateway, activating_a_server_that_is_starting_lists_its_tools) {
  Client client(with({{"slow", slow()}, {"other", silent()}}));
  client.initialize();
  EXPECT_THAT(client.call_text("pivot_activate", {{"server", "slow"}}),
              HasSubstr("[mcpivot] \"slow\" is now active; tools: slow__echo, slow__sleep."));
}

TEST(ColdGateway, servers_that_take_longer_are_named) {
  Client client(with({{"silent", silent({{"active", true}})},
                      {"mute", silent()},
                      {"other", server({"--only", "echo"}, {{"active", true}})}}));
  client.initialize();
  const auto list = client.send("tools/list");
  const auto search = client.send_call("pivot_search", {{"query", "answers with the text"}});
  const auto vain = client.send_call("pivot_search", {{"query", "book a flight to Lisbon"}});
  const auto call = client.send_call("pivot_call", {{"tool", "silent__echo"}});
  const auto direct = client.send_call("silent__echo");
  EXPECT_THAT(names_in(client.await(list, at_last()), "tools"),
              AllOf(Contains("other__echo"), Not(Contains("silent__echo"))));
  EXPECT_THAT(
      text_of(client.await(search, at_last())),
      AllOf(HasSubstr("other__echo"),
            HasSubstr(
                "Still starting, so their tools aren't known yet: silent, mute. Try again in a moment.")));
  EXPECT_THAT(text_of(client.await(vain, at_last())),
              AllOf(HasSubstr("no tool matches"),
                    HasSubstr("Still starting, so their tools aren't known yet: silent, mute.")));
  EXPECT_THAT(text_of(client.await(call, at_last())),
              AllOf(HasSubstr("no tool is called \"silent__echo\""), HasSubstr("Still starting")));
  EXPECT_THAT(json::serialize(client.await(direct, at_last())),
              AllOf(HasSubstr("Unknown tool: silent__echo"), HasSubstr("Still starting")));
  // The model is told once, with the next answer, what the list lacked.
  EXPECT_THAT(client.call_text("other__echo", {{"text", "x"}}),
              AllOf(HasSubstr("still starting"), HasSubstr("\"silent\""), Not(HasSubstr("mute"))));
  EXPECT_EQ(client.call_text("other__echo", {{"text", "y"}}), "y");
}

TEST(ColdGateway, a_server_that_fails_keeps_no_request_waiting) {
  Client client(
      with({{"broken", server({"--die", "start"}, {{"active", true}})}, {"slow", slow({{"active", true}})}}));
  client.initialize();
  EXPECT_THAT(tools_of(client), AllOf(Contains("slow__echo"), Contains("pivot_search")));
}

// Nothing is known about what it has, which is not the same as a tool that doesn't exist.
TEST(ColdGateway, a_server_that_cannot_be_started_is_named_with_the_reason) {
  Client client(with({{"broken", server({"--die", "start"})},
                      {"missing", {{"command", "/no/such/program"}, {"active", true}}},
                      {"other", server({"--only", "echo"}, {{"active", true}})}}));
  client.initialize();
  tools_of(client);
  const auto missing =
      AllOf(HasSubstr("Not available, so its tools aren't known: missing (cannot start '/no/such/program'"),
            Not(HasSubstr("broken")));
  EXPECT_THAT(text_of(client.call("pivot_call", {{"tool", "missing__echo"}})),
              AllOf(HasSubstr("no tool is called \"missing__echo\". "), missing));
  EXPECT_THAT(json::serialize(client.call("missing__echo")),
              AllOf(HasSubstr("Unknown tool: missing__echo. "), missing));
  const auto unknown = AllOf(HasSubstr("Not available, so their tools aren't known: broken (it "),
                             HasSubstr("exited with code 1 before it was ready"),
                             HasSubstr("missing (cannot start '/no/such/program'"));
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "book a flight to Lisbon"}}), unknown);
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "answers with the text"}}), unknown);
}

// That others can't be started has nothing to do with it.
TEST(ColdGateway, a_misspelt_tool_of_a_ready_server_gets_a_suggestion) {
  Client client(with({{"missing", {{"command", "/no/such/program"}, {"active", true}}},
                      {"other", server({"--only", "echo"}, {{"active", true}})}}));
  client.initialize();
  tools_of(client);
  EXPECT_THAT(text_of(client.call("pivot_call", {{"tool", "other__ehco"}})),
              AllOf(HasSubstr("no tool is called \"other__ehco\". Did you mean other__echo? pivot_search"),
                    Not(HasSubstr("missing"))));
  EXPECT_THAT(
      json::serialize(client.call("other__ehco")),
      AllOf(HasSubstr("Unknown tool: other__ehco. Did you mean other__echo?"), Not(HasSubstr("missing"))));
}

TEST(ColdGateway, a_waiting_request_can_be_cancelled) {
  Client client(with({{"silent", silent()}, {"other", silent()}}));
  client.initialize();
  const auto search = client.send_call("pivot_search", {{"query", "anything"}});
  client.notify("notifications/cancelled", {{"requestId", search}});
  const auto next = client.send_call("pivot_search", {{"query", "anything else"}});
  client.await(next, at_last());
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST(ColdGateway, waiting_requests_are_answered_when_mcpivot_ends) {
  Client client(with({{"silent", silent()}, {"other", silent()}}));
  client.initialize();
  const auto search = client.send_call("pivot_search", {{"query", "anything"}});
  client.child().close_stdin();
  EXPECT_THAT(text_of(client.await(search)), HasSubstr("no tool matches"));
}

// ---- What is left for the next run.

class Remembered : public testing::Test {
 protected:
  // They all share a cache.
  ClientOptions run(const json::object& servers) const {
    ClientOptions options = with(servers);
    options.environment = environment();
    return options;
  }
  Environment environment() const { return {{"XDG_CACHE_HOME", folder_.path() / "cache"}}; }
  // Says nothing in its second life.
  json::object server_of_one_life() const {
    return server({"--lives", (folder_.path() / "lives").string(), "--life", "2+", "--hold", "initialize"},
                  {{"active", true}, {"cwd", folder_.path().string()}});
  }
  TemporaryDirectory folder_;
};

TEST_F(Remembered, lists_learned_for_one_client_are_used_for_another) {
  const json::object servers{{"one", server_of_one_life()}, {"other", server({"--only", "none"})}};
  {
    Client first(run(servers));
    first.initialize("2025-03-26");
    EXPECT_THAT(tools_of(first), Contains("one__echo"));
  }
  Client second(run(servers));
  second.initialize("2025-06-18");
  EXPECT_THAT(tools_of(second), Contains("one__echo"));
  EXPECT_THAT(second.call_text("pivot_status"), HasSubstr("one: active, starting"));
}

TEST_F(Remembered, lists_learned_by_doctor_are_used_for_the_first_client) {
  const json::object servers{{"one", server_of_one_life()}, {"other", server({"--only", "none"})}};
  std::ofstream(folder_.path() / "mcpivot.json") << file_of(servers);
  Environment added = environment();
  added.emplace_back("FAKE", fake_server_binary());
  EXPECT_THAT(run_mcpivot({"doctor"}, folder_.path(), added).out, HasSubstr("one: ready"));
  Client client(run(servers));
  client.initialize();
  EXPECT_THAT(tools_of(client), Contains("one__echo"));
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("one: active, starting"));
}

// ---- Over HTTP.

TEST(ColdServe, the_first_list_of_a_client_contains_the_tools_of_servers_that_are_starting) {
  const TemporaryDirectory folder;
  json::object shared = slow({{"active", true}, {"sharing", "shared"}});
  private_file(folder.path() / "mcpivot.json",
               file_of({{"slow", slow({{"active", true}})}, {"all", shared}}));
  const Serve serve({"--config", (folder.path() / "mcpivot.json").string()});
  WebClient client(serve);
  client.initialize();
  EXPECT_THAT(names_in(client.request("tools/list"), "tools"),
              AllOf(Contains("slow__echo"), Contains("all__echo")));
  WebClient modern(serve, Era::modern);
  EXPECT_THAT(names_in(modern.request("tools/list"), "tools"), Contains("slow__echo"));
}

}  // namespace
}  // namespace harness
