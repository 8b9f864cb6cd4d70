// What the operator of `mcpivot serve` sees of its clients from a terminal, and can do for all of them.
#include <csignal>
#include <fstream>

#include "serves.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

Outcome run(const Serve& serve, const Strings& arguments) {
  return run_mcpivot(arguments, serve.directory());
}

json::object status_of(const Serve& serve) {
  return json::parse(run(serve, {"status", "--json"}).out).as_array().at(0).as_object();
}

// With the tokens of alice and bob.
struct Team {
  Team() {
    const fs::path file = folder.path() / "tokens";
    std::ofstream(file) << "alice alice-0123456789abcdef\nbob bob-0123456789abcdef00\n";
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    serve.emplace(Strings{"--token-file", file});
  }
  const TemporaryDirectory folder;
  std::optional<Serve> serve;
  const Headers alice = "Authorization: Bearer alice-0123456789abcdef\r\n";
  const Headers bob = "Authorization: Bearer bob-0123456789abcdef00\r\n";
};

TEST(ServeControl, status_shows_all_clients_and_their_activity_only_to_the_user) {
  const Team team;
  const Serve& serve = *team.serve;
  EXPECT_THAT(run(serve, {"status"}).out, HasSubstr("0 clients"));
  EXPECT_THAT(serve.servers(), IsEmpty()) << "a look has started a server";

  WebClient alice(serve, Era::legacy, team.alice);
  alice.initialize();
  Connection hears = alice.listen();
  alice.call("echo");
  Connection sleeps = alice.send_call("sleep", {{"ms", for_ever}, {"steps", 60'000}}, "mine");
  ASSERT_TRUE(sleeps.read_head().is_stream());
  WebClient bob(serve, Era::modern, team.bob);
  bob.call("echo");

  const Outcome table = run(serve, {"status"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("2 clients, 3 calls made, 1 under way, 2 streams open"), HasSubstr("alice"),
                    HasSubstr("legacy 2025-11-25"), HasSubstr("test 1"), HasSubstr("bob"),
                    HasSubstr("modern 2026-07-28"), Not(HasSubstr(alice.session))));
  const json::object status = status_of(serve);
  const json::object& newest = status.at("clients").at(0).as_object();
  EXPECT_EQ(newest.at("name"), "bob");
  EXPECT_EQ(newest.at("era"), "modern");
  EXPECT_EQ(newest.at("version"), "2026-07-28");
  EXPECT_EQ(newest.at("calls"), 1);
  EXPECT_EQ(newest.at("streams"), 0);
  const json::object& first = status.at("clients").at(1).as_object();
  EXPECT_EQ(first.at("name"), "alice");
  EXPECT_EQ(first.at("program"), "test 1");
  EXPECT_EQ(first.at("calls"), 2);
  EXPECT_EQ(first.at("underWay"), 1);
  EXPECT_EQ(first.at("streams"), 2);
  EXPECT_TRUE(first.contains("ageMs") && first.contains("idleMs"));

  // No other client is told any of it.
  EXPECT_THAT(text_of(alice.call("pivot_status")), AllOf(HasSubstr("state: ready"), Not(HasSubstr("bob"))));
  EXPECT_THAT(text_of(bob.call("pivot_status")), AllOf(HasSubstr("state: ready"), Not(HasSubstr("alice"))));
}

TEST(ServeControl, calls_of_all_clients_are_counted_and_each_sees_only_its_own) {
  const Team team;
  const Serve& serve = *team.serve;
  WebClient alice(serve, Era::legacy, team.alice);
  alice.initialize();
  alice.call("echo");
  alice.call("fail");
  WebClient bob(serve, Era::legacy, team.bob);
  bob.initialize();
  bob.call("echo");
  EXPECT_THAT(text_of(alice.call("pivot_status")), AllOf(HasSubstr("calls: 2\n"), HasSubstr("errors: 1\n")));
  EXPECT_THAT(text_of(bob.call("pivot_status")), AllOf(HasSubstr("calls: 1\n"), Not(HasSubstr("errors"))));
  const auto counted = [&] {
    const json::object server = status_of(serve).at("servers").at(0).as_object();
    EXPECT_TRUE(server.contains("p50Us"));
    return std::pair(server.at("calls").to_number<int>(), server.at("errors").to_number<int>());
  };
  EXPECT_EQ(counted(), std::pair(3, 1));
  const pid_t server = std::stoi(own_text(alice.call("pid")));
  alice.end();
  EXPECT_TRUE(wait_gone({server}));
  EXPECT_EQ(counted(), std::pair(4, 1)) << "forgotten with the client";
}

TEST(ServeControl, a_clients_name_cannot_control_the_terminal) {
  const Serve serve;
  WebClient client(serve);
  const json::object hello = {{"protocolVersion", "2025-11-25"},
                              {"capabilities", json::object()},
                              {"clientInfo", {{"name", "x\033[2Jy\nz"}, {"version", "1"}}}};
  ASSERT_EQ(client.send("initialize", hello).read().status, 200);
  for (const char* command : {"status", "sessions"})
    EXPECT_THAT(run(serve, {command}).out,
                AllOf(HasSubstr("anonymous"), Not(HasSubstr("\033")), Not(HasSubstr("\nz"))));
}

TEST(ServeControl, only_the_newest_clients_are_shown_but_all_are_counted) {
  const Serve serve({"--start-timeout", "1s"});
  std::vector<WebClient> clients;
  for (int i = 0; i < 22; ++i) clients.emplace_back(serve).initialize();
  const std::string table = run(serve, {"status"}).out;
  EXPECT_THAT(table, AllOf(HasSubstr("22 clients"), HasSubstr("and 2 more")));
  const Strings lines = lines_in(table);
  EXPECT_EQ(std::ranges::count_if(
                lines, [](const std::string& line) { return line.find("anonymous") != std::string::npos; }),
            20);
  EXPECT_THAT(status_of(serve).at("clients").as_array(), SizeIs(22));
}

TEST(ServeControl, sessions_are_listed_by_short_ids_and_can_be_ended) {
  Team team;
  Serve& serve = *team.serve;
  WebClient alice(serve, Era::legacy, team.alice);
  WebClient bob(serve, Era::legacy, team.bob);
  alice.initialize();
  bob.initialize();
  Connection hears = alice.listen();
  const pid_t server = std::stoi(own_text(alice.call("pid")));

  const Outcome list = run(serve, {"sessions"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out, AllOf(HasSubstr("alice"), HasSubstr("bob"), HasSubstr("live"), HasSubstr("test 1"),
                              Not(HasSubstr(alice.session)), Not(HasSubstr(bob.session))));
  const json::array all = json::parse(run(serve, {"sessions", "--json"}).out).as_array();
  ASSERT_THAT(all, SizeIs(2));
  std::string id;
  for (const json::value& session : all)
    if (session.at("name") == "alice") id = session.at("id").as_string();
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{10}"));
  EXPECT_EQ(
      serve.post(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", team.alice + "Mcp-Session-Id: " + id + "\r\n")
          .status,
      404)
      << "a short id lets nobody in";

  const Outcome unknown = run(serve, {"sessions", "--end", "nothing"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("no session has an id that begins with \"nothing\""));
  const Outcome ended = run(serve, {"sessions", "--end", id.substr(0, 8)});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr(id), HasSubstr("alice")));
  EXPECT_EQ(hears.read_message(), std::nullopt);
  EXPECT_TRUE(wait_gone({server}));
  EXPECT_EQ(alice.notify("notifications/none").status, 404);
  EXPECT_EQ(bob.notify("notifications/none").status, 202);
  EXPECT_THAT(run(serve, {"sessions"}).out, Not(HasSubstr("alice")));
  // Also after a crash.
  serve.child().signal(SIGKILL);
  ASSERT_TRUE(serve.child().wait_exit(soon()));
  serve.start();
  EXPECT_EQ(alice.notify("notifications/none").status, 404);
}

TEST(ServeControl, a_session_only_in_the_store_can_also_be_listed_and_ended) {
  const Serve serve({"--session-idle", "200ms"});
  WebClient client(serve);
  client.initialize();
  const auto is_stored = [&] { return run(serve, {"sessions"}).out.find("stored") != std::string::npos; };
  ASSERT_TRUE(wait_until(is_stored, soon()));
  EXPECT_THAT(status_of(serve).at("clients").as_array(), IsEmpty());
  const json::array all = json::parse(run(serve, {"sessions", "--json"}).out).as_array();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].at("program"), "test 1");
  EXPECT_EQ(run(serve, {"sessions", "--end", std::string(all[0].at("id").as_string())}).exit_code, 0);
  EXPECT_EQ(run(serve, {"sessions"}).out, "no sessions\n");
  EXPECT_EQ(client.notify("notifications/none").status, 404);
}

TEST(ServeControl, completion_offers_session_ids_and_starts_no_server) {
  const Serve serve;
  EXPECT_EQ(run(serve, {"complete", "--", "call", ""}).exit_code, 0);
  EXPECT_THAT(serve.servers(), IsEmpty());
  WebClient client(serve);
  client.initialize();
  const json::array all = json::parse(run(serve, {"sessions", "--json"}).out).as_array();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(run(serve, {"complete", "--", "sessions", "--end", ""}).out,
              HasSubstr(all[0].at("id").as_string().c_str()));
}

TEST(ServeControl, only_an_mcpivot_with_many_clients_has_sessions) {
  Client client(ClientOptions{});
  client.initialize();
  const Outcome none = run_mcpivot({"sessions"}, client.directory());
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("no \"mcpivot serve\" is running"));
}

// How often a list has changed before the marker that the client's own call sends.
int changes_until_marker(WebClient& client, Connection& stream) {
  client.call("notify", {{"method", "notifications/marker"}});
  int changes = 0;
  while (const auto message = stream.read_message()) {
    if (message->at("method") == "notifications/marker") return changes;
    if (message->at("method") == "notifications/tools/list_changed") ++changes;
  }
  return -1;
}

TEST(ServeControl, a_restart_applies_to_all_clients_and_each_stream_is_told_once) {
  const Serve serve({}, {"--lives", "lives", "--life", "3+", "--tool", "extra"});
  WebClient first(serve);
  WebClient second(serve);
  std::vector<Connection> streams;
  std::vector<std::string> before;
  for (WebClient* client : {&first, &second}) {
    client->initialize();
    client->request("tools/list");
    before.push_back(own_text(client->call("pid")));
    streams.push_back(client->listen());
  }
  const Outcome restarted = run(serve, {"restart"});
  EXPECT_EQ(restarted.exit_code, 0) << restarted.err;
  EXPECT_THAT(restarted.out,
              AllOf(HasSubstr("generation 2"), HasSubstr("1 instance of other clients follows")));
  for (Connection& stream : streams)
    while (stream.read_message().value().at("method") != "notifications/tools/list_changed") {
    }
  for (std::size_t i = 0; i < 2; ++i) {
    WebClient& client = i == 0 ? first : second;
    EXPECT_THAT(text_of(client.call("echo")), HasSubstr("+extra")) << "the model is not told";
    EXPECT_NE(own_text(client.call("pid")), before[i]);
    EXPECT_EQ(changes_until_marker(client, streams[i]), 0) << "it was told twice";
  }
  EXPECT_TRUE(wait_until([&] { return serve.servers().size() == 2; }, soon())) << "one too many was started";
}

TEST(ServeControl, a_stop_ends_all_clients_instances_and_their_next_calls_start_them) {
  const Serve serve;
  std::vector<WebClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(serve).initialize();
    clients.back().call("echo");
  }
  const std::vector<pid_t> servers = serve.servers();
  ASSERT_THAT(servers, SizeIs(3));
  const Outcome stopped = run(serve, {"stop"});
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, AllOf(HasSubstr("3 instances ended"), Not(HasSubstr("Also ended"))));
  EXPECT_TRUE(wait_gone(servers));
  EXPECT_THAT(serve.servers(), IsEmpty());
  EXPECT_THAT(run(serve, {"stop"}).out, HasSubstr("no client has a running instance"));
  for (WebClient& client : clients) EXPECT_EQ(own_text(client.call("echo", {{"text", "again"}})), "again");
}

TEST(ServeControl, instances_and_their_output_are_shown_with_their_clients) {
  const Team team;
  const Serve& serve = *team.serve;
  WebClient alice(serve, Era::legacy, team.alice);
  WebClient bob(serve, Era::modern, team.bob);
  alice.initialize();
  alice.call("stderr", {{"text", "words of hers"}});
  bob.call("stderr", {{"text", "words of his"}});
  const pid_t hers = std::stoi(own_text(alice.call("pid")));

  EXPECT_THAT(run(serve, {"status", "fake"}).out,
              AllOf(HasSubstr("instances: 2\n"), HasSubstr("alice ("), HasSubstr("bob: ready"),
                    HasSubstr("pid " + std::to_string(hers))));
  ASSERT_TRUE(
      wait_until([&] { return run(serve, {"logs"}).out.find("words of his") != std::string::npos; }, soon()));
  const std::string logs = run(serve, {"logs", "fake"}).out;
  EXPECT_THAT(logs, HasSubstr("fake_server/1 bob words of his\n"));
  EXPECT_THAT(logs, testing::ContainsRegex("fake_server/1 alice \\([0-9a-f]+\\) words of hers\n"));
  EXPECT_THAT(serve.servers(), SizeIs(2));
}

TEST(ServeControl, a_build_that_no_client_waits_for_starts_nothing) {
  const Serve serve({"--build", "echo building; echo x >> built; test ! -e broken"});
  const Outcome built = run(serve, {"reload", "--build"});
  EXPECT_EQ(built.exit_code, 0) << built.err;
  EXPECT_THAT(built.out, AllOf(HasSubstr("built \"fake_server\""), HasSubstr("the next call starts it")));
  EXPECT_THAT(built.err, HasSubstr("building"));
  EXPECT_EQ(content_of(serve.directory() / "built"), "x\n");
  EXPECT_THAT(serve.servers(), IsEmpty());
  std::ofstream(serve.directory() / "broken") << "";
  const Outcome broken = run(serve, {"reload", "--build"});
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.out, HasSubstr("failed"));
  EXPECT_THAT(run(serve, {"restart"}).out, HasSubstr("No client has a running instance"));
  EXPECT_THAT(serve.servers(), IsEmpty());
}

TEST(ServeControl, one_build_serves_all_clients) {
  const Serve serve({"--build", "echo x >> built"});
  WebClient first(serve);
  WebClient second(serve);
  for (WebClient* client : {&first, &second}) {
    client->initialize();
    client->call("echo");
  }
  EXPECT_EQ(run(serve, {"reload", "--build"}).exit_code, 0);
  EXPECT_TRUE(wait_until(
      [&] {
        return text_of(first.call("pivot_status")).find("generation: 2") != std::string::npos &&
               text_of(second.call("pivot_status")).find("generation: 2") != std::string::npos;
      },
      soon()));
  EXPECT_EQ(content_of(serve.directory() / "built"), "x\n");
}

TEST(ServeControl, a_tool_called_from_a_terminal_runs_in_a_temporary_instance) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  const std::string hers = own_text(client.call("pid"));
  const Outcome called = run(serve, {"call", "pid"});
  EXPECT_EQ(called.exit_code, 0) << called.err;
  EXPECT_NE(called.out, hers + "\n");
  EXPECT_TRUE(wait_gone({std::stoi(called.out)}));
  EXPECT_THAT(run(serve, {"tools"}).out, HasSubstr("stop_reading"));
  EXPECT_TRUE(wait_until([&] { return serve.servers().size() == 1; }, soon()));
  EXPECT_EQ(own_text(client.call("pid")), hers);
}

TEST(ServeControl, a_server_is_activated_for_all_clients) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "two.json";
  std::ofstream(file) << R"({"mcpServers": {"alpha": {"command": "${FAKE}", "active": true},
                                            "beta": {"command": "${FAKE}", "args": ["--only", "echo"]}}})";
  const Serve serve({"--config", file});
  WebClient first(serve);
  WebClient second(serve);
  for (WebClient* client : {&first, &second}) {
    client->initialize();
    client->call("pivot_call", {{"tool", "beta__echo"}, {"arguments", json::object()}});
  }
  const auto lists_beta = [](WebClient& client) {
    return json::serialize(client.request("tools/list")).find("\"beta__echo\"") != std::string::npos;
  };
  for (const bool active : {true, false}) {
    const Outcome done = run(serve, {active ? "activate" : "deactivate", "beta"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("for 2 clients"));
    EXPECT_EQ(lists_beta(first), active);
    EXPECT_EQ(lists_beta(second), active);
  }
}

}  // namespace
}  // namespace harness
