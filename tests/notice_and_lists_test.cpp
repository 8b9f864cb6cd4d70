// The model knows: what changed reaches it with the next tool answer, and the client's lists are always
// right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eras.h"
#include "lives.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A new generation that nobody requested, so that its notice is due with the next tool answer.
void reload(Client& client) {
  const std::string next = std::to_string(std::stoi(status_of(client, "generation")) + 1);
  client.child().signal(SIGHUP);
  ASSERT_TRUE(wait_status(client, "generation", next));
}

// The command of a server that answers `initialize` with these capabilities, and nothing else.
Strings server_with_capabilities(const std::string& capabilities) {
  return {"sed", "-u", "-n",
          R"(s/.*"id":\([0-9]*\).*"method":"initialize".*/{"jsonrpc":"2.0","id":\1,"result":)"
          R"({"protocolVersion":"2025-06-18","capabilities":)" +
              capabilities + R"(,"serverInfo":{"name":"s","version":"1"}}}/p)"};
}

// ---- The notice.

TEST(Notice, is_the_first_block_of_the_next_tool_result_and_the_rest_is_untouched) {
  Client client({.server = {"--lives", "lives", "--life", "2+", "--tool", "new_tool"}});
  client.initialize();
  reload(client);
  const json::object answer = client.call("echo", {{"text", "hello"}});
  EXPECT_EQ(blocks(answer), 2U);
  EXPECT_THAT(text_of(answer), AllOf(StartsWith("[mcpivot] \"fake_server\" restarted: generation 2"),
                                     HasSubstr("tools: +new_tool")));
  EXPECT_EQ(own_text(answer), "hello");
  EXPECT_FALSE(is_error(answer));
  EXPECT_EQ(blocks(client.call("echo", {{"text", "hello"}})), 1U);
}

TEST(Notice, is_added_only_to_tool_results) {
  Client client;
  client.initialize();
  reload(client);
  EXPECT_THAT(json::serialize(client.request("prompts/get", {{"name", "greet"}})),
              Not(HasSubstr("[mcpivot]")));
  EXPECT_THAT(json::serialize(client.request("resources/read", {{"uri", "fake://hello"}})),
              Not(HasSubstr("[mcpivot]")));
  EXPECT_THAT(json::serialize(client.request("tools/list")), Not(HasSubstr("[mcpivot]")));
  EXPECT_THAT(text_of(client.call("echo")), StartsWith("[mcpivot] "));
}

TEST(Notice, is_added_to_a_tools_own_failure) {
  Client client;
  client.initialize();
  reload(client);
  const json::object answer = client.call("fail", {{"text", "no cheese"}});
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), StartsWith("[mcpivot] "));
  EXPECT_EQ(own_text(answer), "no cheese");
}

TEST(Notice, is_put_before_an_errors_message_and_leaves_code_and_data) {
  Client client;
  client.initialize();
  reload(client);
  const json::object answer =
      client.call("rpc_error", {{"code", -32042}, {"message", "no cheese"}, {"data", {{"kind", "brie"}}}});
  EXPECT_EQ(answer.at("error").at("code"), -32042);
  EXPECT_EQ(answer.at("error").at("data"), (json::object{{"kind", "brie"}}));
  EXPECT_THAT(text_of(answer), AllOf(StartsWith("[mcpivot] "), EndsWith("no cheese")));
  EXPECT_EQ(blocks(client.call("echo")), 1U);
}

TEST(Notice, stays_due_until_delivered_in_a_result_without_structured_content) {
  Client client;
  client.initialize();
  reload(client);
  for (int i = 0; i < 2; ++i) {
    const json::object answer = client.call("structured", {{"a", 1}});
    EXPECT_THAT(text_of(answer), StartsWith("[mcpivot] "));
    const json::object structured = answer.at("result").at("structuredContent").as_object();
    EXPECT_EQ(structured.at("a"), 1);
    ASSERT_TRUE(structured.contains("_mcpivot")) << "the schema allows more properties";
    EXPECT_THAT(std::string(structured.at("_mcpivot").as_string()), StartsWith("[mcpivot] "));
  }
  EXPECT_EQ(blocks(client.call("echo")), 2U);
  EXPECT_EQ(client.call("structured", {{"a", 1}}).at("result").at("structuredContent"),
            (json::object{{"a", 1}}));
}

TEST(Notice, is_also_added_to_empty_structured_content) {
  Client client;
  client.initialize();
  reload(client);
  EXPECT_TRUE(
      client.call("structured").at("result").at("structuredContent").as_object().contains("_mcpivot"));
}

TEST(Notice, is_not_added_to_structured_content_without_additional_properties) {
  const std::string tool =
      R"({"name":"structured","inputSchema":{"type":"object"},)"
      R"("outputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}})";
  Client client({.server = {"--tool", tool}});
  client.initialize();
  reload(client);
  const json::object answer = client.call("structured", {{"a", 1}});
  EXPECT_THAT(text_of(answer), StartsWith("[mcpivot] "));
  EXPECT_EQ(answer.at("result").at("structuredContent"), (json::object{{"a", 1}}));
  EXPECT_EQ(blocks(client.call("echo")), 2U) << "it is still due";
}

TEST(Notice, reports_several_events_at_once) {
  Client client(
      {.server = {"--lives", "lives", "--life", "2", "--tool", "second", "--life", "3", "--tool", "third"}});
  client.initialize();
  reload(client);
  reload(client);
  const json::object answer = client.call("echo");
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("+second"), HasSubstr("+third"), HasSubstr("-second")));
  EXPECT_EQ(blocks(client.call("echo")), 1U);
}

TEST(Notice, of_many_events_is_bounded) {
  Client client;
  client.initialize();
  for (int i = 0; i < 100; ++i) reload(client);
  const std::string notice = text_of(client.call("echo"));
  EXPECT_THAT(notice, HasSubstr("generation 101"));
  EXPECT_LT(notice.size(), 20'000U);
}

TEST(Notice, with_quotes_and_control_characters_is_valid_json) {
  Client client({.options = {"--name", "a \"quoted\"\tname"}});
  client.initialize();
  reload(client);
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("a \"quoted\"\tname"));
}

// ---- Lists.

TEST(Lists, are_identical_byte_for_byte_each_time) {
  const auto list = [](Client& client) {
    client.child().send_line(R"({"jsonrpc":"2.0","id":77,"method":"tools/list"})");
    while (true) {
      const auto line = client.child().read_line(soon());
      if (!line) throw std::runtime_error("no list");
      if (line->find("\"id\":77") != std::string::npos) return *line;
    }
  };
  Client client({.server = {"--page", "5"}, .own_program = true});
  client.initialize();
  const std::string first = list(client);
  EXPECT_EQ(list(client), first);
  client.call("pivot_restart");
  EXPECT_EQ(list(client), first);
  client.call("crash");
  EXPECT_EQ(list(client), first);
  client.call("pivot_restart", {{"stop", true}});
  EXPECT_EQ(list(client), first);
}

TEST(Lists, are_in_the_servers_order_with_the_control_tools_last) {
  Client client(
      {.options = {"--build", "true"}, .server = {"--only", "pid,echo", "--tool", "a", "--page", "1"}});
  client.initialize();
  EXPECT_THAT(tools_of(client), ElementsAre("echo", "pid", "a", "pivot_rebuild", "pivot_restart",
                                            "pivot_status", "pivot_logs"));
}

TEST(Lists, the_control_tools_take_at_most_two_thousand_bytes) {
  Client client({.options = {"--build", "true"}, .server = {"--only", "none"}});
  client.initialize();
  EXPECT_LT(json::serialize(client.request("tools/list").at("result").at("tools")).size(), 2000U);
}

TEST(Lists, a_servers_tool_keeps_its_definition_byte_for_byte) {
  const std::string tool =
      R"({"name":"odd","x-unknown":[1.50,1e3,"\u0041\/"],"inputSchema":{"type":"object","z":1,"a":2}})";
  Client client(
      {.command = {"sed", "-u", "-n", "-e",
                   R"(s/.*"id":\([0-9]*\).*"method":"initialize".*/{"jsonrpc":"2.0","id":\1,"result":)"
                   R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},)"
                   R"("serverInfo":{"name":"s","version":"1"}}}/p)",
                   "-e",
                   R"(s|.*"id":\([0-9]*\).*"method":"tools/list".*|{"jsonrpc":"2.0","id":\1,"result":)"
                   R"({"tools":[{"name":"odd","x-unknown":[1.50,1e3,"\\u0041\\/"],)"
                   R"("inputSchema":{"type":"object","z":1,"a":2}}]}}|p)"}});
  client.initialize();
  client.child().send_line(R"({"jsonrpc":"2.0","id":77,"method":"tools/list"})");
  EXPECT_THAT(client.child().read_line(soon()).value_or(""), HasSubstr(tool));
}

TEST(Lists, a_servers_change_is_announced_once_mcpivot_has_the_new_list) {
  Client client;
  client.initialize();
  for (int i = 1; i <= 3; ++i) {
    client.call("mutate");
    client.expect_notification("notifications/tools/list_changed");
    EXPECT_THAT(tools_of(client), Contains("mutant_" + std::to_string(i)));
  }
}

TEST(Lists, the_last_of_many_simultaneous_changes_is_always_announced) {
  Client client;
  client.initialize();
  for (int i = 0; i < 20; ++i) client.send_call("mutate");
  // However many announcements arrive, the list is complete after the last of them.
  client.expect_notification("notifications/tools/list_changed");
  bool whole = false;
  while (!whole) {
    const Strings names = tools_of(client);
    whole = std::ranges::count(names, "mutant_20") > 0;
    if (!whole) client.expect_notification("notifications/tools/list_changed");
  }
  EXPECT_TRUE(whole);
}

TEST(Lists, a_change_is_still_noticed_after_an_earlier_server_died_while_listing) {
  Client client({.server = {"--lives", "lives", "--tap", "tap", "--life", "1", "--delay", "tools/list=300"}});
  client.initialize();
  const auto asked = [&] {
    return std::ranges::count_if(lines_of(client.directory() / "tap"), [](const std::string& line) {
      return line.find("tools/list") != std::string::npos;
    });
  };
  const auto before = asked();
  client.call("mutate");
  ASSERT_TRUE(wait_until([&] { return asked() > before; }, soon()));
  kill(server_pid(client), SIGKILL);
  client.call("echo");
  client.notifications.clear();
  client.call("mutate");
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("mutant_1"));
}

TEST(Lists, a_change_of_resources_also_covers_templates) {
  Client client;
  client.initialize();
  client.call("notify", {{"method", "notifications/resources/list_changed"}});
  client.expect_notification("notifications/resources/list_changed");
  client.call("notify", {{"method", "notifications/prompts/list_changed"}});
  client.expect_notification("notifications/prompts/list_changed");
}

TEST(Lists, a_change_announced_during_the_handshake_is_not_missed) {
  Client client({.server = {"--early"}});
  client.initialize();
  EXPECT_THAT(tools_of(client), Contains("echo"));
  client.expect_request("roots/list");
}

TEST(Lists, a_list_over_the_message_limit_is_harmless) {
  // Its answer to tools/list is longer than the limit, its others are not.
  Client client({.options = {"--max-message", "1024"}});
  EXPECT_TRUE(client.initialize().contains("result"));
  EXPECT_THAT(tools_of(client), Contains("pivot_status"));
  EXPECT_EQ(own(client, "echo", {{"text", "works"}}), "works");
}

TEST(Lists, a_server_that_fails_to_list_its_tools_is_reported_and_asked_again) {
  Client client({.server = {"--refuse", "tools/list=out of cheese"}});
  EXPECT_TRUE(client.initialize().contains("result"));
  EXPECT_THAT(text_of(client.call("echo", {{"text", "works"}})),
              HasSubstr("tools/list was refused: out of cheese"));
}

TEST(Lists, a_servers_tool_named_like_a_control_tool_is_not_listed_twice) {
  Client client({.server = {"--tool", "pivot_status"}});
  client.initialize();
  const Strings names = tools_of(client);
  EXPECT_EQ(std::ranges::count(names, "pivot_status"), 1);
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("state: ready"));
}

// ---- What the client is told it may use.

TEST(Capabilities, are_widened_to_whatever_a_later_generation_might_have) {
  for (const char* without : {"logging", "tools,prompts,resources,logging,completions"}) {
    SCOPED_TRACE(without);
    Client client({.server = {"--without", without}});
    const json::object hello = client.initialize();
    const json::object capabilities = hello.at("result").at("capabilities").as_object();
    EXPECT_EQ(capabilities.at("tools").at("listChanged"), true);
    EXPECT_EQ(capabilities.at("prompts").at("listChanged"), true);
    EXPECT_EQ(capabilities.at("resources").at("listChanged"), true);
    EXPECT_EQ(capabilities.at("resources").at("subscribe"), true);
    EXPECT_TRUE(capabilities.contains("logging"));
    EXPECT_TRUE(capabilities.contains("completions"));
    EXPECT_EQ(hello.at("result").at("serverInfo").at("name"), "fake");
  }
}

TEST(Capabilities, that_the_server_lacks_get_empty_results) {
  Client client({.server = {"--without", "tools,prompts,resources,logging,completions"}});
  client.initialize();
  EXPECT_THAT(tools_of(client), ElementsAre("pivot_restart", "pivot_status", "pivot_logs"));
  for (const auto& [method, member] :
       {std::pair{"prompts/list", "prompts"}, std::pair{"resources/list", "resources"},
        std::pair{"resources/templates/list", "resourceTemplates"}})
    EXPECT_EQ(client.request(method).at("result").at(member), json::array{});
  EXPECT_EQ(client.request("logging/setLevel", {{"level", "info"}}).at("result"), json::object{});
  EXPECT_EQ(client.request("resources/subscribe", {{"uri", "a://b"}}).at("result"), json::object{});
  EXPECT_EQ(client
                .request("completion/complete", {{"ref", {{"type", "ref/prompt"}, {"name", "x"}}},
                                                 {"argument", {{"name", "a"}, {"value", "b"}}}})
                .at("result")
                .at("completion")
                .at("values"),
            json::array{});
}

TEST(Capabilities, subscriptions_do_not_reach_a_server_without_that_capability) {
  Client client({.server = {"--without", "subscribe"}});
  client.initialize();
  EXPECT_EQ(client.request("resources/subscribe", {{"uri", "fake://hello"}}).at("result"), json::object{});
  EXPECT_EQ(client.request("resources/unsubscribe", {{"uri", "fake://hello"}}).at("result"), json::object{});
}

TEST(Capabilities, added_by_a_later_generation_work) {
  Client client({.server = {"--lives", "lives", "--life", "1", "--without", "prompts,logging"}});
  client.initialize();
  EXPECT_EQ(client.request("prompts/list").at("result").at("prompts"), json::array{});
  EXPECT_THAT(text_of(client.call("pivot_restart")), HasSubstr("prompts: +greet"));
  client.expect_notification("notifications/prompts/list_changed");
  EXPECT_THAT(names_in(client.request("prompts/list"), "prompts"), ElementsAre("greet"));
}

// A level that was set while the server had no logging is still what the client wants.
TEST(Capabilities, a_log_level_set_before_the_server_had_logging_reaches_a_later_generation) {
  Client client({.server = {"--lives", "lives", "--life", "1", "--without", "logging"}});
  client.initialize();
  client.request("logging/setLevel", {{"level", "alert"}});
  client.call("pivot_restart");
  EXPECT_THAT(own(client, "state"), HasSubstr(R"("logLevel":"alert")"));
}

TEST(Capabilities, of_an_unusual_kind_pass_unchanged) {
  Client client({.command = server_with_capabilities(R"({"experimental":{"x":[1.50,1e3]}})")});
  client.child().send_line(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}})");
  EXPECT_THAT(client.child().read_line(soon()).value_or(""), HasSubstr(R"("experimental":{"x":[1.50,1e3]})"));
}

TEST(Capabilities, that_are_invalid_do_not_end_the_connection) {
  std::string deep = "1";
  for (int i = 0; i < 60; ++i) deep = "[" + deep + "]";
  for (const std::string& capabilities :
       {R"({"experimental":)" + deep + "}", std::string(R"({"experimental":1e999})"), std::string("[]"),
        std::string("null"), std::string("7")}) {
    SCOPED_TRACE(capabilities);
    Client client({.command = server_with_capabilities(capabilities)});
    EXPECT_TRUE(client.initialize().contains("result"));
    EXPECT_TRUE(client.request("ping").contains("result"));
    EXPECT_TRUE(process_alive(client.child().pid()));
  }
}

TEST(Capabilities, discover_offers_no_modern_version_for_a_legacy_server) {
  Client client({.server = {"--tap", "tap"}});
  for (int i = 0; i < 2; ++i) {
    const json::object answer = client.request("server/discover", {{"_meta", modern_meta()}});
    EXPECT_EQ(answer.at("result").at("supportedVersions"),
              (json::array{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}));
  }
  client.initialize();
  client.call("echo");
  const std::string tap = content_of(client.directory() / "tap");
  EXPECT_EQ(tap.find("server/discover"), tap.rfind("server/discover"));
}

// ---- Looking inside.

TEST(Looking, the_status_shows_what_is_running_and_what_happened) {
  Client client({.options = {"--build", "true", "--name", "dev"}, .server = {"--lives", "lives"}});
  client.initialize();
  client.call("pivot_rebuild");
  client.call("crash");
  settle(client);
  EXPECT_THAT(client.call_text("pivot_status"),
              AllOf(HasSubstr("server: dev\n"), HasSubstr("state: ready\n"), HasSubstr("generation: 3\n"),
                    HasSubstr("starts: 3\n"), HasSubstr("crashes: 1\n"), HasSubstr("SIGABRT"),
                    HasSubstr("builds: 1\n"), HasSubstr("last build: succeeded in ")));
}

TEST(Looking, the_logs_survive_restarts_and_can_be_shown_by_generation) {
  Client client;
  client.initialize();
  client.call("stderr", {{"text", "words of the first"}});
  client.call("pivot_restart");
  client.call("stderr", {{"text", "words of the second"}, {"lines", 5}});
  ASSERT_TRUE(client.child().wait_stderr("words of the second", soon()));
  EXPECT_THAT(
      client.call_text("pivot_logs"),
      AllOf(HasSubstr("words of the first"), HasSubstr("generation 2"), HasSubstr("words of the second")));
  EXPECT_THAT(client.call_text("pivot_logs", {{"generation", 1}}),
              AllOf(HasSubstr("words of the first"), Not(HasSubstr("words of the second"))));
  EXPECT_THAT(client.call_text("pivot_logs", {{"lines", 2}}),
              AllOf(Not(HasSubstr("words of the first")), HasSubstr("words of the second")));
}

}  // namespace
}  // namespace harness
