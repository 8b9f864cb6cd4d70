// Many servers behind one connection: under which names clients see what they have, and who gets what is
// asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// ---- Names.

TEST(Gateway, bare_names_are_prefixed_where_two_clash) {
  const json::object servers = {{"alpha", server({"--only", "echo,pid"}, {{"active", true}})},
                                {"beta", server({"--only", "echo,cwd"}, {{"active", true}})}};
  Client client(with(servers, {{"names", "bare"}}));
  start(client);
  EXPECT_THAT(tools_of(client), AllOf(Contains("alpha__echo"), Contains("beta__echo"), Contains("pid"),
                                      Contains("cwd"), Not(Contains("echo"))));
  EXPECT_EQ(own(client, "beta__echo", {{"text", "b"}}), "b");
  EXPECT_THAT(own(client, "pid"), Not(HasSubstr("Unknown")));
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("name clash: echo of \"alpha\""));
}

TEST(Gateway, long_and_odd_names_become_stable_names_that_clients_accept) {
  const std::string tool(80, 'x');
  const json::object servers = {
      {"a server with spaces", server({"--only", "echo", "--tool", tool}, {{"active", true}})},
      {"beta", server({})}};
  Strings first;
  for (int run = 0; run < 2; ++run) {
    Client client(with(servers));
    start(client, {"a server with spaces", "beta"});
    const Strings tools = with_prefix(tools_of(client), "a_server_with_spaces__");
    ASSERT_THAT(tools, SizeIs(2));
    for (const std::string& name : tools) {
      EXPECT_LE(name.size(), 48U);
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
                std::string::npos);
      EXPECT_FALSE(client.call(name).contains("error"));
    }
    if (run == 1) {
      EXPECT_EQ(tools, first);
    }
    first = tools;
  }
}

// Larger than a pipe, so that most of it still waits to be written when the lists are built again.
TEST(Gateway, a_large_list_that_waits_for_its_reader_does_not_change) {
  json::object servers = two();
  const std::string words(3'000'000, 'w');
  servers["alpha"].as_object()["tools"] = {{"describe", {{"echo", words}}}};
  Client client(with(servers));
  start(client);
  const auto alpha = static_cast<pid_t>(std::stol(own(client, "alpha__pid")));
  client.child().pause_reading(true);
  const auto before = client.send("tools/list");
  const auto full = [&] { return bytes_written(client.child().pid()) > 60'000; };
  ASSERT_TRUE(wait_until(full, soon()));
  servers.erase("alpha");
  rewrite(client, file_of(servers));
  ASSERT_TRUE(wait_until([&] { return !process_alive(alpha); }, soon()));
  client.child().pause_reading(false);
  EXPECT_THAT(json::serialize(client.await(before)), HasSubstr("\"" + words + "\""));
  const std::string after = json::serialize(client.request("tools/list"));
  EXPECT_THAT(after, AllOf(Not(HasSubstr(words)), HasSubstr("pivot_restart")));
}

TEST(Gateway, tools_can_be_allowed_denied_renamed_and_redescribed) {
  json::object rules = {{"allow", json::array{"e*", "pid", "sleep"}},
                        {"deny", json::array{"env"}},
                        {"rename", {{"echo", "say"}}},
                        {"describe", {{"echo", "Says it again"}}}};
  const json::object servers = {
      {"alpha", server({"--only", "echo,env,pid,cwd"}, {{"active", true}, {"tools", rules}})},
      {"beta", server({})}};
  Client client(with(servers));
  start(client);
  EXPECT_THAT(with_prefix(tools_of(client), "alpha__"), ElementsAre("alpha__say", "alpha__pid"));
  EXPECT_THAT(json::serialize(client.request("tools/list")), HasSubstr("Says it again"));
  EXPECT_EQ(own(client, "alpha__say", {{"text", "renamed"}}), "renamed");
  for (const char* denied : {"alpha__env", "alpha__cwd", "alpha__echo"}) {
    EXPECT_THAT(json::serialize(client.call(denied)), HasSubstr("Unknown tool")) << denied;
    EXPECT_THAT(text_of(client.call("pivot_call", {{"tool", denied}})), HasSubstr("no tool is called"))
        << denied;
  }
}

// ---- Everything else that is routed.

TEST(Gateway, prompts_and_resources_reach_their_servers) {
  const json::object servers = {
      {"alpha", server({"--prompt", "mine", "--resource", "alpha://only"}, {{"active", true}})},
      {"beta", server({"--prompt", "mine", "--resource", "beta://only"}, {{"active", true}})}};
  Client client(with(servers));
  start(client);
  const Strings prompts = names_in(client.request("prompts/list"), "prompts");
  EXPECT_THAT(prompts, AllOf(Contains("alpha__mine"), Contains("beta__mine")));
  EXPECT_TRUE(client.request("prompts/get", {{"name", "beta__mine"}}).contains("result"));
  EXPECT_TRUE(client.request("prompts/get", {{"name", "mine"}}).contains("error"));

  const Strings uris = names_in(client.request("resources/list"), "resources", "uri");
  EXPECT_THAT(uris, AllOf(Contains("alpha://only"), Contains("beta://only")));
  EXPECT_EQ(std::ranges::count(uris, "fake://hello"), 1) << "both have it; the first one gets it";
  const json::object templates = client.request("resources/templates/list");
  EXPECT_THAT(names_in(templates, "resourceTemplates", "uriTemplate"), ElementsAre("fake://item/{id}"));
  EXPECT_THAT(client.call_text("pivot_status"),
              HasSubstr("fake://item/{id} is read from \"alpha\", though \"beta\" has it too"));
  for (const char* uri : {"alpha://only", "beta://only", "fake://hello"})
    EXPECT_TRUE(client.request("resources/read", {{"uri", uri}}).contains("result")) << uri;
  EXPECT_EQ(client.request("resources/read", {{"uri", "gamma://x"}}).at("error").at("code"), -32002);
  EXPECT_TRUE(client.request("resources/subscribe", {{"uri", "beta://only"}}).contains("result"));
  EXPECT_THAT(own(client, "beta__state"), HasSubstr("beta://only"));
  EXPECT_THAT(own(client, "alpha__state"), Not(HasSubstr("beta://only")));
}

TEST(Gateway, a_malformed_log_message_reaches_the_client_as_valid_json) {
  const TemporaryDirectory folder;
  const std::string fifo = folder.path() / "inject";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  json::object servers = two();
  servers["alpha"] = server({"--inject", fifo}, {{"active", true}});
  Client client(with(servers));
  start(client);
  // What the server sends, and what of it reaches the client.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {R"(,"params":[])", R"(,"params":[])"},
      {R"(,"params":[{"level":"info"}])", R"(,"params":[{"level":"info"}])"},
      {R"(,"params":{})", R"(,"params":{"logger":"alpha"})"},
      {R"(,"params":{ })", R"(,"params":{"logger":"alpha"})"},
      {R"(,"params":{"data":1})", R"(,"params":{"logger":"alpha","data":1})"},
      {R"(,"params":{"data":1,"logger":7})", R"(,"params":{"data":1,"logger":"alpha"})"},
      {R"(,"params":{"level":"info","logger":"db"})", R"(,"params":{"level":"info","logger":"alpha/db"})"},
  };
  std::ofstream inject(fifo);
  for (const auto& [said, heard] : cases) {
    const std::string begin = R"({"jsonrpc":"2.0","method":"notifications/message")";
    inject << begin << said << "}" << std::endl;
    EXPECT_EQ(client.expect_notification("notifications/message"), json::parse(begin + heard + "}")) << said;
  }
}

TEST(Gateway, the_log_level_reaches_all_servers_and_log_messages_name_theirs) {
  Client client(with(two()));
  start(client);
  EXPECT_TRUE(client.request("logging/setLevel", {{"level", "debug"}}).contains("result"));
  client.call("pivot_activate", {{"server", "beta"}});
  for (const char* name : {"alpha", "beta"}) {
    const std::string server_name = name;
    EXPECT_TRUE(wait_until(
        [&] {
          return own(client, server_name + "__state").find("\"logLevel\":\"debug\"") != std::string::npos;
        },
        soon()));
    client.call(server_name + "__log", {{"level", "error"}, {"text", "x"}});
    const json::object said = client.expect_notification("notifications/message");
    EXPECT_THAT(std::string(said.at("params").at("logger").as_string()), StartsWith(server_name));
  }
}

TEST(Gateway, an_unknown_log_level_is_rejected) {
  Client client(with(two()));
  start(client);
  for (const json::object& params :
       {json::object{{"level", "loud"}}, json::object{{"level", 3}}, json::object{}}) {
    const json::value error = client.request("logging/setLevel", params).at("error");
    EXPECT_EQ(error.at("code"), -32602) << json::serialize(params);
    EXPECT_THAT(json::serialize(error), AllOf(HasSubstr("debug"), HasSubstr("emergency")));
  }
  EXPECT_THAT(own(client, "alpha__state"), Not(HasSubstr("loud")));
}

TEST(Gateway, each_server_can_ask_the_client) {
  Client client(with(two()));
  start(client);
  client.call("pivot_activate", {{"server", "beta"}});
  const auto a = client.send_call("alpha__ask", {{"method", "roots/list"}});
  const auto b = client.send_call("beta__ask", {{"method", "roots/list"}});
  const json::object first = client.expect_request("roots/list");
  const json::object second = client.expect_request("roots/list");
  EXPECT_NE(first.at("id"), second.at("id"));
  client.answer(second, {{"roots", json::array{}}});
  client.answer(first, {{"roots", json::array{}}});
  EXPECT_FALSE(is_error(client.await(a)));
  EXPECT_FALSE(is_error(client.await(b)));
}

TEST(Gateway, task_requests_reach_the_server_of_the_task) {
  Client client(with(two()));
  const json::object hello = client.initialize("2025-11-25");
  EXPECT_TRUE(hello.at("result").at("capabilities").at("tasks").at("requests").at("tools").is_object());
  wait_ready(client, {"alpha", "beta"});
  client.call("pivot_activate", {{"server", "beta"}});
  const json::object begun = client.request(
      "tools/call", {{"name", "beta__echo"}, {"arguments", json::object{}}, {"task", {{"ttl", 60000}}}});
  const json::value task = begun.at("result").at("task").at("taskId");
  // By the second time it has ended, and is still known.
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(own_text(client.request("tasks/result", {{"taskId", task}})), HasSubstr("the result of"));
  EXPECT_TRUE(client.request("tasks/result", {{"taskId", "nobody's"}}).contains("error"));
}

TEST(Gateway, an_unknown_method_is_rejected) {
  Client client(with(two()));
  start(client);
  EXPECT_EQ(client.request("custom/method").at("error").at("code"), -32601);
  EXPECT_TRUE(client.request("ping").contains("result"));
}

}  // namespace
}  // namespace harness
