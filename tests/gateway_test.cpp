// Many servers behind one connection: only active ones are in the client's lists, and the rest can be found.
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
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST(Gateway, only_active_servers_are_listed) {
  Client client(with(two()));
  start(client);
  const Strings tools = tools_of(client);
  EXPECT_THAT(tools, Contains("alpha__echo"));
  EXPECT_THAT(with_prefix(tools, "beta__"), IsEmpty());
  EXPECT_THAT(tools, Contains("pivot_activate"));

  const std::string words = client.call_text("pivot_activate", {{"server", "BET"}});
  EXPECT_THAT(words, AllOf(HasSubstr("\"beta\" is now active"), HasSubstr("beta__echo")));
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(with_prefix(tools_of(client), "beta__"), SizeIs(6));
  EXPECT_EQ(own(client, "beta__echo", {{"text", "hello"}}), "hello");

  EXPECT_THAT(
      client.call_text("pivot_deactivate", {{"server", "beta"}}),
      HasSubstr("is now inactive; 6 tools left the list. pivot_call still reaches its tools by name."));
  EXPECT_EQ(tools_of(client), tools);
}

TEST(Gateway, a_server_activated_before_it_is_ready_is_announced_once) {
  json::object servers = two();
  servers["beta"] = server({"--hold", "initialize"});
  Client client(with(servers));
  start(client, {"alpha"});
  EXPECT_THAT(
      text_of(client.call("pivot_activate", {{"server", "beta"}}, in(std::chrono::seconds(20)))),
      HasSubstr("\"beta\" is now active; its tools aren't known yet: it is starting (generation 1)."));
}

TEST(Gateway, an_ambiguous_or_unknown_name_lists_the_candidates) {
  json::object servers = two();
  servers["alphabet"] = server({});
  Client client(with(servers));
  start(client, {"alpha", "beta", "alphabet"});
  EXPECT_THAT(text_of(client.call("pivot_activate", {{"server", "alph"}})),
              AllOf(HasSubstr("alpha"), HasSubstr("alphabet"), HasSubstr("matches several")));
  EXPECT_THAT(text_of(client.call("pivot_activate", {{"server", "gamma"}})),
              AllOf(HasSubstr("no server is called \"gamma\""), HasSubstr("beta")));
  EXPECT_THAT(client.call_text("pivot_activate", {{"server", "alpha"}}), HasSubstr("was already active"));
}

TEST(Gateway, a_tool_of_an_inactive_server_says_how_to_activate_or_pivot_call_it) {
  Client client(with(two()));
  start(client);
  const json::object answer = client.call("beta__echo", {{"text", "x"}});
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("pivot_activate"), HasSubstr("pivot_call")));
  EXPECT_EQ(own(client, "pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "through"}}}}),
            "through");
  EXPECT_THAT(text_of(client.call("pivot_call", {{"tool", "nobody__echo"}})), HasSubstr("no tool is called"));
  EXPECT_THAT(json::serialize(client.call("nobody__echo")), HasSubstr("Unknown tool: nobody__echo"));
}

TEST(Gateway, arguments_of_pivot_call_may_be_an_object_or_a_json_string) {
  Client client(with(two()));
  start(client);
  const auto call = [&](const json::value& arguments) {
    return client.call("pivot_call", {{"tool", "beta__echo"}, {"arguments", arguments}});
  };
  EXPECT_EQ(own_text(call("{\n  \"text\": \"spelled\"\n}")), "spelled");
  for (const json::value& wrong : {json::value("text=x"), json::value("[1]"), json::value(json::array{1}),
                                   json::value(7), json::value(std::string(2'000, '['))}) {
    const json::object answer = call(wrong);
    EXPECT_TRUE(is_error(answer));
    EXPECT_THAT(text_of(answer), HasSubstr("\"arguments\" must be an object"));
  }
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1'022; ++i) deep += "[";
  for (int i = 0; i < 1'022; ++i) deep += "]";
  EXPECT_THAT(text_of(call(json::value(deep + "}"))), HasSubstr("nested too deeply"));
  EXPECT_THAT(text_of(client.call("pivot_call")), HasSubstr("say which tool"));
}

TEST(Gateway, pivot_call_has_progress_and_can_be_cancelled) {
  Client client(with(two()));
  start(client);
  const auto id = client.send(
      "tools/call",
      {{"name", "pivot_call"},
       {"arguments", {{"tool", "beta__sleep"}, {"arguments", {{"ms", 600'000}, {"steps", 60'000}}}}},
       {"_meta", {{"progressToken", "tok"}}}});
  const json::object progress = client.expect_notification("notifications/progress");
  EXPECT_EQ(progress.at("params").at("progressToken"), "tok");
  client.notify("notifications/cancelled", {{"requestId", id}});
  EXPECT_TRUE(wait_until(
      [&] {
        return own(client, "pivot_status", {{"server", "beta"}}).find("in flight: ") == std::string::npos;
      },
      soon()));
}

TEST(Gateway, remembers_which_servers_were_active) {
  TemporaryDirectory state;
  const std::string file = (state.path() / "mcpivot.json").string();
  std::ofstream(file) << file_of(two(), {{"remember", true}});
  // The same file twice: not the harness's own.
  auto run = [&] {
    return ClientOptions{.options = {"--config", file}, .environment = {{"XDG_STATE_HOME", state.path()}}};
  };
  {
    Client first(run());
    start(first);
    first.call("pivot_activate", {{"server", "beta"}});
    first.call("pivot_deactivate", {{"server", "alpha"}});
  }
  Client second(run());
  start(second);
  EXPECT_THAT(tools_of(second), AllOf(Contains("beta__echo"), Not(Contains("alpha__echo"))));
}

TEST(Gateway, uses_little_context_when_no_server_is_active) {
  json::object servers;
  for (int i = 0; i < 5; ++i) servers["server" + std::to_string(i)] = server({});
  Client client(with(servers));
  const json::object hello = client.initialize();
  const std::size_t instructions = hello.at("result").at("instructions").as_string().size();
  const std::string tools = json::serialize(client.request("tools/list").at("result").at("tools"));
  EXPECT_LE(tools.size() + instructions, 2500U);
}

TEST(Gateway, tools_are_found_by_their_purpose) {
  json::object servers = two();
  servers["beta"] = server({"--only", "echo", "--tool",
                            R"({"name":"resize_image","description":"Scales a picture to another size",)"
                            R"("inputSchema":{"type":"object","properties":{"width":{"type":"integer"}}}})"},
                           {{"tools", {{"deny", json::array{"echo"}}}}});
  Client client(with(servers));
  start(client);
  const std::string found =
      client.call_text("pivot_search", {{"query", "make a photo smaller, resize the image"}});
  EXPECT_THAT(found, AllOf(StartsWith("beta__resize_image (inactive"), HasSubstr(R"("width")")));
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "book a flight to Lisbon"}}),
              StartsWith("no tool matches"));
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "answers with the text"}}),
              Not(HasSubstr("beta__echo")));
  EXPECT_TRUE(is_error(client.call("pivot_search")));
}

TEST(Gateway, a_file_with_one_server_presents_it_as_it_is) {
  Client client(with({{"alpha", server({"--name", "alpha"})}}));
  const json::object hello = client.initialize();
  EXPECT_EQ(hello.at("result").at("serverInfo").at("name"), "alpha");
  const Strings tools = tools_of(client);
  EXPECT_THAT(tools, Contains("echo"));
  EXPECT_THAT(tools, Not(Contains("pivot_activate")));
  EXPECT_EQ(own(client, "echo", {{"text", "bare"}}), "bare");
}

TEST(Compat, mcpflip_has_its_three_tools_and_bare_tool_names) {
  const json::object servers = {{"alpha", server({"--only", "echo"}, {{"active", true}})},
                                {"beta", server({"--only", "pid"})}};
  Client client(with(servers, {}, {"--compat", "mcpflip"}));
  client.initialize();
  ASSERT_TRUE(wait_until(
      [&] {
        const std::string status = client.call_text("gateway_status");
        return status.contains("alpha: active, ready") && status.contains("beta: inactive, ready");
      },
      soon()));
  EXPECT_THAT(tools_of(client),
              ElementsAre("echo", "gateway_activate", "gateway_deactivate", "gateway_status"));
  EXPECT_THAT(client.call_text("gateway_activate", {{"name", "beta"}}), HasSubstr("is now active"));
  EXPECT_THAT(tools_of(client), Contains("pid"));
  EXPECT_FALSE(is_error(client.call("pid")));
}

}  // namespace
}  // namespace harness
