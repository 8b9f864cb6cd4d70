// Many servers behind one connection: each lives, rests and dies on its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

TEST(Gateway, a_server_that_fails_or_hangs_at_startup_delays_no_other) {
  json::object servers = two();
  servers["missing"] = json::object{{"command", "/no/such/program"}, {"active", true}};
  servers["hanging"] = server({"--hold", "initialize"}, {{"active", true}});
  servers["dying"] = server({"--die", "start"}, {{"active", true}});
  Client client(with(servers));
  const json::object hello = client.initialize();
  EXPECT_TRUE(hello.contains("result"));
  wait_ready(client, {"alpha", "beta"});
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "quick"}}), "quick");
  const std::string status = client.call_text("pivot_status");
  EXPECT_THAT(status, AllOf(HasSubstr("missing: active, failed"), HasSubstr("hanging: active, starting")));
}

TEST(Gateway, a_crash_is_reported_with_prefixed_names_and_affects_no_other_server) {
  Client client(with(two()));
  start(client);
  client.call("pivot_activate", {{"server", "beta"}});
  const pid_t alpha = std::stoi(own(client, "alpha__pid"));
  for (int i = 0; i < 5; ++i) {
    const std::string report = own_text(client.call("beta__crash"));
    EXPECT_THAT(report,
                AllOf(HasSubstr("\"beta\" (generation "), HasSubstr("running the tool \"beta__crash\"")));
    EXPECT_EQ(own(client, "alpha__echo", {{"text", "here"}}), "here");
  }
  EXPECT_EQ(std::stoi(own(client, "alpha__pid")), alpha);
}

TEST(Gateway, a_crash_of_an_inactive_server_is_not_reported_to_the_model) {
  Client client(with(two()));
  start(client);
  EXPECT_TRUE(is_error(client.call("pivot_call", {{"tool", "beta__crash"}})));
  wait_ready(client, {"beta"});
  EXPECT_EQ(blocks(client.call("alpha__echo", {{"text", "x"}})), 1U);
}

TEST(Gateway, a_change_in_one_server_is_reported_in_the_next_result_of_any) {
  json::object servers = two();
  servers["beta"] =
      server({"--lives", "b", "--only", "echo", "--life", "2+", "--tool", "fresh"}, {{"active", true}});
  Client client(with(servers));
  start(client);
  client.notifications.clear();
  const std::string beta = own(client, "pivot_status", {{"server", "beta"}});
  kill(std::stoi(beta.substr(beta.find("\npid: ") + 6)), SIGKILL);
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("beta__fresh"));
  EXPECT_THAT(client.call_text("alpha__echo"),
              AllOf(HasSubstr("[mcpivot] \"beta\" restarted"), HasSubstr("+beta__fresh")));
  EXPECT_EQ(client.call_text("alpha__echo", {{"text", "once"}}), "once");
}

TEST(Gateway, a_stop_that_frees_a_program_stops_every_server_running_it) {
  const TemporaryDirectory folder;
  const std::string program = (folder.path() / "server").string();
  fs::copy_file(fake_server_binary(), program);
  json::object servers;
  for (const char* name : {"alpha", "beta"})
    servers[name] = json::object{{"command", program}, {"active", true}};
  Client client(with(servers));
  start(client);
  client.call("pivot_restart", {{"server", "alpha"}, {"stop", true}});
  for (const char* name : {"alpha", "beta"}) {
    EXPECT_TRUE(wait_until(
        [&] {
          return own(client, "pivot_status", {{"server", name}}).find("state: stopped") != std::string::npos;
        },
        soon()))
        << name;
    EXPECT_THAT(own(client, "pivot_status", {{"server", name}}), Not(HasSubstr("killed from outside")));
  }
  for (const char* tool : {"alpha__echo", "beta__echo"}) EXPECT_EQ(own(client, tool, {{"text", "up"}}), "up");
}

TEST(Gateway, many_servers_are_started_in_advance) {
  json::object servers;
  Strings names;
  for (int i = 0; i < 20; ++i) {
    names.push_back("s" + std::to_string(i));
    servers[names.back()] = server({"--only", "echo"}, {{"active", true}});
  }
  Client client(with(servers));
  start(client, names);
  EXPECT_THAT(tools_of(client), Contains("s19__echo"));
  EXPECT_EQ(own(client, "s7__echo", {{"text", "seven"}}), "seven");
  const std::vector<pid_t> all = descendants_of(client.child().pid());
  EXPECT_GE(all.size(), 20U);
  client.child().close_stdin();
  EXPECT_TRUE(client.child().wait_exit(soon()));
  EXPECT_TRUE(wait_gone(all));
}

// ---- Lazy servers.

TEST(Gateway, a_lazy_server_is_listed_from_its_last_run_and_starts_when_used) {
  TemporaryDirectory folder;
  json::object servers = two();
  servers["beta"] = server({"--only", "echo", "--journal", (folder.path() / "journal").string()},
                           {{"start", "lazy"}, {"active", true}, {"cwd", folder.path().string()}});
  auto run = [&] {
    ClientOptions options = with(servers);
    options.environment = {{"XDG_CACHE_HOME", (folder.path() / "cache").string()}};
    return options;
  };
  {
    Client first(run());
    start(first);  // started once, to learn its tools
  }
  Client second(run());
  second.initialize();
  wait_ready(second, {"alpha"});
  EXPECT_THAT(tools_of(second), Contains("beta__echo"));
  EXPECT_THAT(own(second, "pivot_status", {{"server", "beta"}}), HasSubstr("state: stopped"));
  EXPECT_EQ(own(second, "beta__echo", {{"text", "awake"}}), "awake");
}

TEST(Gateway, a_lone_lazy_server_lists_its_tools_even_if_it_never_ran) {
  Client client(with({{"alpha", server({"--only", "echo"}, {{"start", "lazy"}})}}));
  EXPECT_THAT(json::serialize(client.initialize()), HasSubstr("\"fake\""));
  EXPECT_THAT(tools_of(client), Contains("echo"));
}

TEST(Gateway, an_inactive_server_rests_after_a_while_and_is_started_by_a_call) {
  json::object servers = two();
  servers["beta"] = server({"--only", "echo", "--lives", "b"}, {{"idle_stop", "100ms"}});
  Client client(with(servers));
  client.initialize();
  wait_ready(client, {"alpha"});
  ASSERT_TRUE(wait_until(
      [&] {
        return own(client, "pivot_status", {{"server", "beta"}}).find("nobody needed it") !=
               std::string::npos;
      },
      soon()));
  EXPECT_EQ(own(client, "pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "up"}}}}), "up");
}

TEST(Gateway, a_server_rests_only_after_the_results_of_its_tasks_were_fetched) {
  json::object servers = two();
  for (const char* name : {"beta", "gamma"})
    servers[name] = server({"--only", "echo"}, {{"idle_stop", "100ms"}, {"active", true}});
  Client client(with(servers));
  start(client, {"alpha", "beta", "gamma"});
  const json::object begun = client.request(
      "tools/call", {{"name", "beta__echo"}, {"arguments", json::object{}}, {"task", {{"ttl", 60000}}}});
  const json::value task = begun.at("result").at("task").at("taskId");
  const auto rests = [&](const char* name) {
    return wait_until(
        [&] {
          return own(client, "pivot_status", {{"server", name}}).find("nobody needed it") !=
                 std::string::npos;
        },
        soon());
  };
  client.call("pivot_deactivate", {{"server", "beta"}});
  client.call("pivot_deactivate", {{"server", "gamma"}});
  ASSERT_TRUE(rests("gamma"));  // and so would the other one, which was told so earlier
  EXPECT_THAT(own_text(client.request("tasks/result", {{"taskId", task}})), HasSubstr("the result of"));
  EXPECT_TRUE(rests("beta"));
}

}  // namespace
}  // namespace harness
