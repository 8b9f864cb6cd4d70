// What a client is told about the servers behind mcpivot: which exist, which could not start, what
// is wrong with the file that lists them; and that the names it has seen stay the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons.h"
#include "gateways.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const json::object missing{{"command", "/no/such/program"}, {"active", true}};
const char* const no_json = "{\n  \"mcpServers\":";

// The first answer of this tool whose first block contains that.
std::string wait_told(Client& client, const std::string& tool, const std::string& part) {
  std::string text;
  EXPECT_TRUE(
      wait_until([&] { return (text = text_of(client.call(tool))).find(part) != std::string::npos; }, soon()))
      << text;
  return text;
}

bool wait_overview(Client& client, const std::string& part) {
  return wait_until([&] { return client.call_text("pivot_status").find(part) != std::string::npos; }, soon());
}

std::string instructions_in(const json::object& hello) {
  return std::string(hello.at("result").at("instructions").as_string());
}

// ---- Servers come, go and fail.

TEST(FleetNews, servers_added_to_or_removed_from_the_file_are_reported_once) {
  json::object servers = two();
  servers["beta"].as_object()["active"] = true;
  Client client(with(servers));
  start(client);
  servers.erase("beta");
  servers["delta"] = server({"--only", "echo"}, {{"active", true}});
  servers["epsilon"] = server({"--only", "echo"});
  servers["broken"] = missing;
  rewrite(client, file_of(servers));
  const std::string told = wait_told(client, "alpha__echo", "the configuration changed:");
  EXPECT_THAT(told, HasSubstr("\n+ \"delta\": active"));
  EXPECT_THAT(told, HasSubstr("\n+ \"epsilon\": inactive; pivot_activate {\"server\": \"epsilon\"} adds"));
  EXPECT_THAT(told, AllOf(HasSubstr("\n+ \"broken\": active; it could not be started: "),
                          HasSubstr("/no/such/program")));
  EXPECT_THAT(told, HasSubstr("\n- \"beta\": removed, with its tools."));
  EXPECT_THAT(told, Not(HasSubstr("\"alpha\"")));
  EXPECT_EQ(blocks(client.call("alpha__echo")), 1U) << "told twice";

  servers["epsilon"].as_object()["active"] = true;
  rewrite(client, file_of(servers));
  EXPECT_THAT(wait_told(client, "alpha__echo", "the configuration changed:"),
              AllOf(HasSubstr("\n~ \"epsilon\": active"), Not(HasSubstr("delta"))));
}

TEST(FleetNews, of_many_servers_at_once_is_bounded) {
  json::object servers = two();
  Client client(with(servers));
  start(client);
  for (int i = 0; i < 30; ++i)
    servers["more" + std::to_string(i)] = server({"--only", "echo"}, {{"start", "lazy"}});
  rewrite(client, file_of(servers));
  const std::string told = wait_told(client, "alpha__echo", "the configuration changed:");
  EXPECT_THAT(told,
              AllOf(HasSubstr("\"more19\""), Not(HasSubstr("\"more20\"")), HasSubstr("… and 10 more.")));
}

TEST(FleetNews, an_active_server_that_fails_at_startup_is_reported_once) {
  json::object servers = two();
  servers["missing"] = missing;
  servers["dying"] = server({"--die", "start", "--how", "7"}, {{"active", true}});
  servers["idle"] = json::object{{"command", "/no/such/program"}};
  Client client(with(servers));
  start(client);
  ASSERT_TRUE(wait_overview(client, "exited with code 7"));
  const std::string told = text_of(client.call("alpha__echo"));
  EXPECT_THAT(told, HasSubstr("[mcpivot] these active servers could not be started; mcpivot keeps trying:"));
  EXPECT_THAT(told, HasSubstr("\n\"missing\": "));
  EXPECT_THAT(told, AllOf(HasSubstr("\n\"dying\": "), HasSubstr("exited with code 7")));
  EXPECT_THAT(told, Not(HasSubstr("idle")));
  EXPECT_EQ(blocks(client.call("alpha__echo")), 1U) << "told twice";
}

TEST(FleetNews, a_failure_known_at_the_handshake_is_in_the_instructions) {
  json::object servers = two();
  servers["missing"] = missing;
  Client client(with(servers));
  ASSERT_TRUE(client.child().wait_stderr("missing: generation 1 failed", soon()));
  EXPECT_THAT(instructions_in(client.initialize()),
              HasSubstr("These active servers could not be started:\n\"missing\": cannot start"));
}

TEST(FleetNews, a_daemon_that_was_away_at_startup_is_announced_when_it_is_ready) {
  const int port = free_port();
  json::object servers = two();
  servers["app"] =
      json::object{{"url", "http://127.0.0.1:" + std::to_string(port) + "/mcp"}, {"active", true}};
  Client client(with(servers));
  start(client);
  ASSERT_TRUE(wait_overview(client, "app: active, away"));
  EXPECT_THAT(text_of(client.call("alpha__echo")), HasSubstr("\n\"app\": "));
  const FakeDaemon daemon(port, {});
  EXPECT_TRUE(wait_overview(client, "app: active, ready"));
  EXPECT_THAT(text_of(client.call("alpha__echo")), HasSubstr("\"app\" is ready now"));
  EXPECT_EQ(blocks(client.call("alpha__echo")), 1U) << "told twice";
}

// ---- Problems with the file.

TEST(FleetNews, an_invalid_config_file_is_reported_where_a_model_looks) {
  Client client({.config = no_json});
  const std::string instructions = instructions_in(client.initialize());
  const std::string place = (client.directory() / "mcpivot.json").string() + ":2:";
  EXPECT_THAT(instructions, AllOf(HasSubstr("there is no server: " + place), HasSubstr("Fix the file")));
  EXPECT_THAT(client.call_text("pivot_status"), StartsWith("configuration: " + place));
  const json::object refused = client.call("pivot_activate", {{"server", "alpha"}});
  EXPECT_TRUE(is_error(refused));
  EXPECT_THAT(text_of(refused), StartsWith("[mcpivot] there is no server: " + place));
  EXPECT_THAT(text_of(client.call("pivot_restart")), HasSubstr(place));

  rewrite(client, file_of(two()));
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(client.call_text("pivot_status"), StartsWith("servers: 2"));
  wait_ready(client, {"alpha"});
  EXPECT_THAT(text_of(client.call("alpha__echo")),
              AllOf(HasSubstr("the configuration's errors are fixed"), HasSubstr("\n+ \"alpha\": active")));
}

TEST(FleetNews, an_empty_file_is_reported_as_naming_no_server) {
  Client client({.config = "{}"});
  EXPECT_THAT(instructions_in(client.initialize()), HasSubstr("the configuration names none"));
  EXPECT_THAT(text_of(client.call("pivot_activate", {{"server", "alpha"}})),
              HasSubstr("there is no server: the configuration names none"));
}

TEST(FleetNews, errors_in_a_changed_file_are_in_the_status_until_fixed) {
  Client client(with(two()));
  start(client);
  rewrite(client, no_json);
  wait_told(client, "alpha__echo", "has errors, so mcpivot keeps the previous one");
  EXPECT_THAT(client.call_text("pivot_status"), AllOf(StartsWith("configuration: "), HasSubstr(":2:")));
  EXPECT_THAT(client.call_text("pivot_status", {{"server", "alpha"}}), StartsWith("configuration: "));
  EXPECT_THAT(text_of(client.call("pivot_activate", {{"server", "gamma"}})),
              AllOf(HasSubstr("The servers are: alpha, beta"), HasSubstr(":2:")));
  rewrite(client, file_of(two()));
  EXPECT_THAT(wait_told(client, "alpha__echo", "errors are fixed"), Not(HasSubstr("\n+ ")));
  EXPECT_THAT(client.call_text("pivot_status"), StartsWith("servers: "));
}

TEST(FleetNews, problems_come_before_the_instructions_of_a_single_server) {
  Client client(with({{"alpha", server({"--instructions", "Alpha is first."})}}, {{"names", 7}}));
  EXPECT_THAT(instructions_in(client.initialize()),
              AllOf(StartsWith("The configuration of mcpivot has errors: "), HasSubstr("\"names\""),
                    HasSubstr("\n\nAlpha is first.")));
  EXPECT_THAT(client.call_text("pivot_status"), StartsWith("configuration: "));
}

TEST(FleetNews, a_problem_that_ends_with_a_question_has_no_full_stop_after_it) {
  Client client(with(two(), {{"pivot_cal", "off"}}));
  EXPECT_THAT(
      instructions_in(client.initialize()),
      HasSubstr("did you mean \"pivot_call\"? Fix the file; mcpivot reads it again when it is saved."));
}

// ---- Names that were seen.

TEST(SeenNames, of_a_single_server_stay_bare_when_a_second_one_comes) {
  const Strings arguments = {"--only", "echo,pid", "--prompt", "mine"};
  json::object servers = {{"alpha", server(arguments)}};
  Client client(with(servers));
  client.initialize();
  EXPECT_THAT(tools_of(client), Contains("echo"));
  servers["beta"] = server(arguments, {{"active", true}});
  rewrite(client, file_of(servers));
  EXPECT_THAT(wait_told(client, "echo", "the configuration changed:"), HasSubstr("\n+ \"beta\": active"));
  wait_ready(client, {"alpha", "beta"});
  EXPECT_THAT(tools_of(client), AllOf(Contains("echo"), Contains("beta__echo"), Not(Contains("alpha__echo")),
                                      Contains("pivot_activate")));
  EXPECT_EQ(own(client, "echo", {{"text", "a"}}), "a");
  EXPECT_EQ(own(client, "beta__echo", {{"text", "b"}}), "b");
  EXPECT_NE(own(client, "pid"), own(client, "beta__pid"));
  EXPECT_THAT(names_in(client.request("prompts/list"), "prompts"),
              AllOf(Contains("mine"), Contains("beta__mine")));
  for (const char* prompt : {"mine", "beta__mine"})
    EXPECT_TRUE(client.request("prompts/get", {{"name", prompt}}).contains("result")) << prompt;

  // Also after it was removed and added again.
  const json::value alpha = servers.at("alpha");
  servers.erase("alpha");
  rewrite(client, file_of(servers));
  wait_told(client, "beta__echo", "- \"alpha\"");
  servers["alpha"] = alpha;
  servers["alpha"].as_object()["active"] = true;
  rewrite(client, file_of(servers));
  wait_told(client, "beta__echo", "+ \"alpha\"");
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
}

TEST(SeenNames, of_several_servers_stay_prefixed_when_one_is_left) {
  json::object servers = two();
  Client client(with(servers));
  start(client);
  servers.erase("beta");
  rewrite(client, file_of(servers));
  wait_told(client, "alpha__echo", "- \"beta\"");
  EXPECT_THAT(tools_of(client), AllOf(Contains("alpha__echo"), Not(Contains("echo"))));
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "still"}}), "still");
}

TEST(SeenNames, that_clash_with_a_control_tool_are_changed_and_the_model_is_told) {
  json::object servers = {{"alpha", server({"--only", "echo", "--tool", "pivot_search"})}};
  Client client(with(servers));
  client.initialize();
  EXPECT_THAT(tools_of(client), Contains("pivot_search"));
  servers["beta"] = server({"--only", "echo"});
  rewrite(client, file_of(servers));
  EXPECT_THAT(wait_told(client, "echo", "the configuration changed:"),
              HasSubstr("name clash: pivot_search of \"alpha\" is called alpha__pivot_search here"));
}

}  // namespace
}  // namespace harness
