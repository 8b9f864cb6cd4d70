// Profiles of `mcpivot serve`: what clients that connect at /mcp/NAME see and may do; and how many servers
// may run for all of them.
#include "serves.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string alices = "alice-0123456789abcdef";
const std::string bobs = "bob-0123456789abcdef00";
const std::string carols = "carol-0123456789abcdef";

constexpr const char* hello =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},)"
    R"("clientInfo":{"name":"x","version":"1"}}})";
constexpr const char* ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";

const std::string two_servers = R"("mcpServers": {"one": {"command": "${FAKE}", "active": true},
  "two": {"command": "${FAKE}", "args": ["--tool", "extra"], "active": true}})";

// The configuration, in its own folder.
struct Configured {
  explicit Configured(const std::string& profiles) { write(profiles); }
  void write(const std::string& profiles) const {
    private_file(file(), "{" + two_servers + R"(, "profiles": )" + profiles + "}");
  }
  std::string file() const { return folder.path() / "mcpivot.json"; }
  TemporaryDirectory folder;
};

// The names in its list of tools.
Strings tools_of(WebClient& client) {
  Strings names;
  const json::object answer = client.request("tools/list");
  for (const json::value& tool : answer.at("result").at("tools").as_array())
    names.emplace_back(tool.at("name").as_string());
  return names;
}

// The same, once this one is among them: servers start when a client connects, and are listed once started.
Strings tools_with(WebClient& client, const std::string& name) {
  Connection hears = client.listen();
  Strings names = tools_of(client);
  while (std::ranges::find(names, name) == names.end()) {
    if (!hears.read_message(in(std::chrono::seconds(20))))
      throw std::runtime_error("it is never listed: " + name);
    names = tools_of(client);
  }
  return names;
}

bool is_refused(const json::object& answer) {
  return answer.contains("error") || json::serialize(answer).find(R"("isError":true)") != std::string::npos;
}

TEST(ServeProfiles, show_only_their_servers_and_tools) {
  const Configured config(
      R"({"narrow": {"servers": ["one"], "tools": {"deny": ["one__stderr"]}}, "wide": {"tools": {"allow": ["echo"]}}})");
  const Serve serve({"--config", config.file()});
  for (const Era era : {Era::legacy, Era::modern}) {
    WebClient narrow(serve, era);
    narrow.target = "/mcp/narrow";
    if (era == Era::legacy) narrow.initialize();
    EXPECT_THAT(tools_of(narrow), AllOf(Contains("echo"), Not(Contains("stderr")), Not(Contains("extra"))));
    EXPECT_THAT(text_of(narrow.call("pivot_status")), Not(HasSubstr("two")));
    EXPECT_EQ(own_text(narrow.call("echo", {{"text", "hello"}})), "hello");
    EXPECT_TRUE(is_refused(narrow.call("stderr", {{"text", "x"}})));
    EXPECT_TRUE(is_refused(narrow.call("two__extra")));
  }
  WebClient wide(serve);
  wide.target = "/mcp/wide";
  wide.initialize();
  tools_with(wide, "two__echo");
  tools_with(wide, "one__echo");
  EXPECT_THAT(tools_of(wide),
              AllOf(Contains("one__echo"), Contains("two__echo"), Not(Contains("two__extra"))));
  EXPECT_EQ(own_text(wide.call("one__echo", {{"text", "hello"}})), "hello");
  EXPECT_TRUE(is_refused(wide.call("two__extra")));
  EXPECT_TRUE(is_refused(wide.call("pivot_call", {{"tool", "two__extra"}, {"arguments", json::object()}})));
  EXPECT_THAT(text_of(wide.call("pivot_search", {{"query", "extra"}})), Not(HasSubstr("two__extra")));
  EXPECT_EQ(serve.post(ping, {}, "/mcp/nobodys").status, 404);
}

TEST(ServeProfiles, a_token_bound_to_one_profile_cannot_use_another) {
  const Configured config(R"({"narrow": {"servers": ["one"]}, "wide": {}})");
  const TemporaryDirectory folder;
  const std::string tokens = private_file(
      folder.path() / "tokens", "alice " + alices + " narrow\nbob " + bobs + "\ncarol " + carols + " gone\n");
  const Serve serve({"--config", config.file(), "--token-file", tokens});
  WebClient alice(serve, Era::legacy, bearer(alices));
  alice.initialize();
  EXPECT_THAT(tools_of(alice), AllOf(Contains("echo"), Not(Contains("one__echo"))));
  EXPECT_EQ(serve.post(ping, bearer(alices), "/mcp/wide").status, 404);
  WebClient bob(serve, Era::legacy, bearer(bobs));
  bob.target = "/mcp/wide";
  bob.initialize();
  tools_with(bob, "two__extra");
  EXPECT_EQ(serve.post(ping, bearer(carols)).status, 404) << "its profile isn't there";
  // A session belongs to the profile in which it began.
  bob.target = "/mcp/narrow";
  EXPECT_EQ(bob.notify("notifications/initialized").status, 404);
}

TEST(ServeProfiles, determine_what_clients_may_do_with_servers) {
  const Configured config(R"({"ops": {"control": ["restart", "logs"]}, "default": {"servers": ["one"]}})");
  const Serve serve({"--config", config.file()});
  WebClient ops(serve);
  ops.target = "/mcp/ops";
  ops.initialize();
  EXPECT_THAT(tools_with(ops, "one__pid"), AllOf(Contains("pivot_restart"), Contains("pivot_logs")));
  const std::string before = own_text(ops.call("one__pid"));
  const json::object restarted = ops.call("pivot_restart", {{"server", "one"}});
  EXPECT_FALSE(is_refused(restarted)) << json::serialize(restarted);
  EXPECT_NE(own_text(ops.call("one__pid")), before);
  WebClient other(serve);
  other.initialize();
  EXPECT_THAT(tools_of(other),
              AllOf(Contains("echo"), Not(Contains("extra")), Not(Contains("pivot_restart"))));
  EXPECT_TRUE(is_refused(other.call("pivot_restart", {{"server", "one"}})));
}

TEST(ServeProfiles, a_client_that_may_see_calls_sees_only_its_own) {
  const Configured config(R"({"ops": {"control": ["logs"], "servers": ["one"]}})");
  const Serve serve({"--config", config.file(), "--journal"});
  WebClient legacy(serve);
  legacy.target = "/mcp/ops";
  legacy.initialize();
  WebClient modern(serve, Era::modern);
  modern.target = "/mcp/ops";
  legacy.call("echo", {{"text", "said by the first"}});
  modern.call("echo", {{"text", "said by the second"}});
  const auto calls_of = [](WebClient& client) {
    return text_of(client.call("pivot_logs", {{"calls", true}}));
  };
  EXPECT_TRUE(wait_until([&] { return calls_of(legacy).find("by the first") != std::string::npos; }, soon()));
  EXPECT_TRUE(
      wait_until([&] { return calls_of(modern).find("by the second") != std::string::npos; }, soon()));
  EXPECT_THAT(calls_of(legacy), Not(HasSubstr("by the second")));
  EXPECT_THAT(calls_of(modern), Not(HasSubstr("by the first")));
}

TEST(ServeProfiles, a_client_that_may_stop_servers_stops_only_its_own) {
  const Configured config(R"({"ops": {"control": ["restart"]}})");
  const Serve serve({"--config", config.file()});
  WebClient other(serve);
  WebClient ops(serve);
  ops.target = "/mcp/ops";
  for (WebClient* client : {&other, &ops}) client->initialize();
  tools_with(other, "one__pid");
  tools_with(ops, "one__pid");
  const std::string others = own_text(other.call("one__pid"));
  const pid_t own = std::stoi(own_text(ops.call("one__pid")));
  EXPECT_THAT(text_of(ops.call("pivot_restart", {{"server", "one"}, {"stop", true}})), HasSubstr("stopped"));
  EXPECT_TRUE(wait_gone({own}));
  EXPECT_EQ(own_text(other.call("one__pid")), others);
}

TEST(ServeProfiles, that_change_or_are_removed_affect_connected_clients) {
  const Configured config(R"({"ops": {"servers": ["one", "two"], "control": ["restart"]}})");
  const Serve serve({"--config", config.file(), "--session-idle", "1s"});
  WebClient client(serve);
  client.target = "/mcp/ops";
  client.initialize();
  EXPECT_THAT(tools_with(client, "two__extra"), Contains("pivot_restart"));
  Connection hears = client.listen();
  config.write(R"({"ops": {"servers": ["one"]}})");
  Strings tools = tools_of(client);
  while (std::ranges::find(tools, "two__extra") != tools.end()) {
    ASSERT_TRUE(hears.read_message(in(std::chrono::seconds(20))));
    tools = tools_of(client);
  }
  EXPECT_THAT(tools, Not(Contains("pivot_restart")));
  config.write(R"({"other": {}})");
  while (hears.read_message(in(std::chrono::seconds(20)))) {
  }
  EXPECT_EQ(client.notify("notifications/initialized").status, 404);
  EXPECT_THAT(serve.servers(), SizeIs(0));
}

TEST(ServeProfiles, a_default_profile_with_errors_lets_nobody_in_at_mcp) {
  const Configured config(R"({"default": {"server": ["one"]}, "wide": {}})");
  const Serve serve({"--config", config.file()});
  EXPECT_EQ(serve.post(hello).status, 404);
  EXPECT_EQ(serve.post(hello, {}, "/mcp/default").status, 404);
  EXPECT_EQ(serve.post(hello, {}, "/mcp/wide").status, 200);
}

TEST(ServeInstances, the_longest_idle_one_makes_room_and_busy_ones_do_not) {
  const Serve serve({"--max-instances", "2"});
  WebClient first(serve);
  WebClient second(serve);
  WebClient third(serve);
  for (WebClient* client : {&first, &second}) client->initialize();
  const std::string first_server = own_text(first.call("pid"));
  const std::string second_server = own_text(second.call("pid"));
  third.initialize();
  third.call("pid");
  EXPECT_TRUE(wait_gone({std::stoi(first_server)}));
  EXPECT_EQ(own_text(second.call("pid")), second_server);
  EXPECT_THAT(serve.servers(), SizeIs(2));

  Connection second_works = second.send_call("sleep", {{"ms", 3000}, {"steps", 3}}, "t");
  Connection third_works = third.send_call("sleep", {{"ms", 3000}, {"steps", 3}}, "t");
  ASSERT_TRUE(second_works.read_head().is_stream());
  ASSERT_TRUE(third_works.read_head().is_stream());
  Connection refused = first.send_call("pid");
  const Reply reply = refused.read();
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.header("Retry-After"), "");
  while (second_works.read_message()) {
  }
  const json::object answer = first.call("pid");
  EXPECT_NE(own_text(answer), first_server);
  EXPECT_THAT(text_of(answer), HasSubstr("was stopped to make room for another client"));
}

TEST(ServeInstances, a_rejected_client_leaves_no_session) {
  const Serve serve({"--max-instances", "1"});
  WebClient first(serve);
  first.initialize();
  Connection works = first.send_call("sleep", {{"ms", for_ever}, {"steps", 60'000}}, "t");
  ASSERT_TRUE(works.read_head().is_stream());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(serve.post(hello).status, 503);
  EXPECT_EQ(serve.logged(" is gone"), 3U);
}

TEST(ServeInstances, clients_share_one_if_the_option_says_so_and_the_server_entry_is_silent) {
  const Serve serve({"--sharing", "shared"});
  WebClient first(serve);
  WebClient second(serve);
  for (WebClient* client : {&first, &second}) client->initialize();
  EXPECT_EQ(own_text(first.call("pid")), own_text(second.call("pid")));
}

}  // namespace
}  // namespace harness
