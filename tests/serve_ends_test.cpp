// What ends `mcpivot serve` and its clients, and who continues afterwards.
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "serves.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(ServeEnds, a_session_survives_a_restart_of_mcpivot_and_the_model_is_told) {
  Serve serve;
  WebClient client(serve);
  client.initialize();
  const pid_t before = std::stoi(own_text(client.call("pid")));
  serve.child().signal(SIGKILL);
  ASSERT_TRUE(serve.child().wait_exit(soon()));
  EXPECT_TRUE(wait_gone({before}));
  serve.start();

  const json::object answer = client.call("pid");
  EXPECT_NE(own_text(answer), std::to_string(before));
  EXPECT_THAT(text_of(answer), HasSubstr("[mcpivot] this session was resumed"));
  EXPECT_THAT(json::serialize(client.call("pid")), Not(HasSubstr("[mcpivot]")));
  // The resumed client can be asked questions, as before.
  Connection call = client.send_call("ask", {{"method", "roots/list"}});
  ASSERT_TRUE(call.read_head().is_stream());
  client.answer(*call.read_message(), {{"roots", json::array()}});
  EXPECT_THAT(own_text(*call.read_message()), HasSubstr("roots"));
}

TEST(ServeEnds, a_sessions_settings_and_its_end_survive_a_restart_of_mcpivot) {
  Serve serve;
  WebClient client(serve);
  client.initialize();
  client.request("logging/setLevel", {{"level", "error"}});
  client.request("resources/subscribe", {{"uri", "fake://hello"}});
  WebClient ended(serve);
  ended.initialize();
  EXPECT_EQ(ended.end().status, 204);
  serve.child().signal(SIGTERM);
  ASSERT_TRUE(serve.child().wait_exit(soon()));
  serve.start();

  const json::object state = json::parse(own_text(client.call("state"))).as_object();
  EXPECT_EQ(state.at("logLevel"), "error");
  EXPECT_THAT(json::serialize(state.at("subscriptions")), HasSubstr("fake://hello"));
  EXPECT_EQ(ended.notify("notifications/initialized").status, 404);
}

json::object hello_of(const std::string& name) {
  return {{"protocolVersion", "2025-11-25"},
          {"capabilities", json::object()},
          {"clientInfo", {{"name", name}, {"version", "1"}}}};
}

TEST(ServeEnds, a_client_that_leaves_while_its_session_is_restored_becomes_idle) {
  Serve serve({"--session-idle", "200ms"});
  std::vector<WebClient> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(serve).initialize();
  EXPECT_TRUE(wait_until([&] { return serve.logged("is gone") == 20; }, soon()));
  for (const WebClient& client : clients) {
    Connection connection(serve.address());
    connection.send(request_text("GET", "/mcp", client.headers() + "Accept: text/event-stream\r\n", {}));
  }
  EXPECT_TRUE(wait_until([&] { return serve.logged("is back") == 20; }, soon()));
  EXPECT_TRUE(wait_until([&] { return serve.logged("is gone") == 40; }, soon()));
}

TEST(ServeEnds, a_client_that_leaves_before_its_handshake_completes_leaves_nothing_behind) {
  const Serve serve({}, {"--delay", "initialize=600000"});
  {
    WebClient client(serve);
    Connection connection = client.send("initialize", hello_of("test"));
    ASSERT_TRUE(wait_until([&] { return serve.servers().size() == 1; }, soon()));
  }
  EXPECT_TRUE(wait_until([&] { return serve.servers().empty(); }, soon()));
  EXPECT_EQ(serve.logged("is gone"), 1);
}

TEST(ServeEnds, a_handshake_too_long_for_the_session_id_is_stored_before_it_is_answered) {
  Serve serve;
  const json::object hello = hello_of(std::string(3000, 'n'));
  WebClient client(serve);
  const auto initialize = [&] { return client.send("initialize", hello).read(); };
  const Reply opened = initialize();
  ASSERT_EQ(opened.status, 200);
  serve.child().signal(SIGKILL);
  ASSERT_TRUE(serve.child().wait_exit(soon()));
  serve.start();
  client.session = opened.header("Mcp-Session-Id");
  EXPECT_EQ(client.notify("notifications/initialized").status, 202);

  // Without a store, such an id would be useless after our end: none is issued.
  serve.child().signal(SIGKILL);
  ASSERT_TRUE(serve.child().wait_exit(soon()));
  for (const char* part : {"", "-wal", "-shm"})
    std::filesystem::remove(serve.directory() / ("state/mcpivot/sessions.db" + std::string(part)));
  std::filesystem::create_directory(serve.directory() / "state/mcpivot/sessions.db");
  serve.start();
  client.session.clear();
  const Reply refused = initialize();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Mcp-Session-Id"), "");
  EXPECT_THAT(refused.body, HasSubstr("session store"));
  EXPECT_TRUE(wait_until([&] { return serve.servers().empty(); }, soon()));
  client.initialize();  // a short one needs no store
  EXPECT_NE(client.session, "");
}

// A private file with these keys.
void write_keys(const std::filesystem::path& path, const std::string& lines) {
  std::ofstream(path.string() + ".new") << lines;
  std::filesystem::permissions(path.string() + ".new",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(path.string() + ".new", path);
}

const std::string first_key = "k1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
const std::string second_key = "k2 BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=\n";

TEST(ServeEnds, keys_can_be_replaced_at_run_time_and_a_bad_file_changes_nothing) {
  const TemporaryDirectory keys;
  const std::string file = keys.path() / "keys";
  write_keys(file, first_key);
  Serve serve({"--session-key-file", file});
  WebClient client(serve);
  client.initialize();
  EXPECT_THAT(client.session, testing::StartsWith("k1."));
  write_keys(file, second_key + first_key);
  ASSERT_TRUE(wait_until([&] { return serve.logged("was reloaded") == 1; }, soon()));
  WebClient later(serve);
  later.initialize();
  EXPECT_THAT(later.session, testing::StartsWith("k2."));
  EXPECT_EQ(client.notify("notifications/none").status, 202);
  write_keys(file, "k3 nonsense\n");
  ASSERT_TRUE(wait_until([&] { return serve.logged("keeping the old keys of session ids") == 1; }, soon()));
  EXPECT_EQ(client.notify("notifications/none").status, 202);
  write_keys(file, second_key);
  ASSERT_TRUE(wait_until([&] { return serve.logged("was reloaded") == 2; }, soon()));
  EXPECT_EQ(client.notify("notifications/none").status, 404);
  EXPECT_EQ(later.notify("notifications/none").status, 202);
}

TEST(ServeEnds, without_a_home_folder_the_store_is_next_to_the_key) {
  const TemporaryDirectory keys;
  write_keys(keys.path() / "keys", first_key);
  Serve serve({"--session-key-file", keys.path() / "keys"}, {}, {"127.0.0.1:0"},
              {{"HOME", ""}, {"XDG_STATE_HOME", ""}});
  EXPECT_TRUE(std::filesystem::exists(keys.path() / "sessions.db"));
}

TEST(ServeEnds, after_sigterm_a_call_in_flight_is_answered_and_new_ones_are_rejected) {
  Serve serve;
  WebClient client(serve);
  client.initialize();
  Connection hears = client.listen();
  Connection call = client.send_call("ask", {{"method", "roots/list"}});
  ASSERT_TRUE(call.read_head().is_stream());
  const auto question = call.read_message();
  const std::vector<pid_t> servers = serve.servers();
  ASSERT_THAT(servers, SizeIs(1));

  serve.child().signal(SIGTERM);
  ASSERT_TRUE(wait_until([&] { return serve.ask("GET", "/readyz").status == 503; }, soon()));
  const Reply refused = serve.post(R"({"jsonrpc":"2.0","id":7,"method":"tools/list"})", client.headers());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(client.answer(*question, {{"roots", json::array()}}).status, 202);
  EXPECT_THAT(own_text(*call.read_message()), HasSubstr("roots"));
  EXPECT_EQ(call.read_message(), std::nullopt);
  EXPECT_EQ(hears.read_message(), std::nullopt);
  EXPECT_EQ(serve.child().wait_exit(soon()), W_EXITCODE(0, 0));
  EXPECT_TRUE(wait_gone(servers));
}

TEST(ServeEnds, after_sigterm_a_handshake_in_flight_is_answered) {
  Serve serve({}, {"--delay", "initialize=1500"});
  WebClient client(serve);
  Connection hello = client.send("initialize", {{"protocolVersion", "2025-11-25"},
                                                {"capabilities", json::object()},
                                                {"clientInfo", {{"name", "x"}, {"version", "1"}}}});
  ASSERT_TRUE(wait_until([&] { return serve.servers().size() == 1; }, soon()));
  serve.child().signal(SIGTERM);
  const Reply answer = hello.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.header("Mcp-Session-Id"), "");
  EXPECT_THAT(answer.body, HasSubstr(R"("serverInfo":{"name":"fake")")) << "what the server says";
  EXPECT_EQ(serve.child().wait_exit(soon()), W_EXITCODE(0, 0));
}

TEST(ServeEnds, a_call_that_outlasts_the_drain_does_not_keep_mcpivot_alive) {
  Serve serve({"--drain", "300ms"});
  WebClient client(serve);
  client.initialize();
  Connection call = client.send_call("sleep", {{"ms", for_ever}, {"steps", 60'000}}, "mine");
  ASSERT_TRUE(call.read_head().is_stream());
  serve.child().signal(SIGTERM);
  EXPECT_EQ(serve.child().wait_exit(soon()), W_EXITCODE(0, 0));
  std::optional<json::object> last;
  while (auto message = call.read_message()) last = message;
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->contains("method")) << json::serialize(*last);  // it is answered even so
}

TEST(ServeEnds, an_idle_clients_servers_end_and_its_session_resumes_later) {
  const Serve serve({"--session-idle", "300ms"});
  WebClient client(serve);
  client.initialize();
  const pid_t before = std::stoi(own_text(client.call("pid")));
  EXPECT_TRUE(wait_gone({before}));
  const json::object answer = client.call("pid");
  EXPECT_NE(own_text(answer), std::to_string(before));
  EXPECT_THAT(text_of(answer), HasSubstr("[mcpivot] this session was resumed"));
}

TEST(ServeEnds, a_client_that_waits_is_not_idle) {
  const Serve serve({"--session-idle", "100ms"});
  WebClient waits(serve);
  waits.initialize();
  Connection call = waits.send_call("sleep", {{"ms", 1500}});
  EXPECT_EQ(own_text(waits.await(call)), "slept 1500 ms");  // in a stream, since it takes its time
}

TEST(ServeEnds, a_client_that_only_listens_keeps_its_stream_and_no_server) {
  const Serve serve({"--session-idle", "200ms"});
  WebClient client(serve);
  client.initialize();
  Connection hears = client.listen();
  const pid_t before = std::stoi(own_text(client.call("pid")));
  EXPECT_TRUE(wait_gone({before}));
  const json::object answer = client.call("notify", {{"method", "notifications/marker"}});
  EXPECT_THAT(text_of(answer), HasSubstr("was stopped because it was idle for a long time. The next call "
                                         "starts it again; anything it held in memory is gone."));
  EXPECT_EQ(hears.read_message()->at("method"), "notifications/marker");
}

TEST(ServeEnds, a_modern_client_that_listens_to_a_resource_keeps_its_server) {
  const TemporaryDirectory folder;
  const std::string alices = "alice-0123456789abcdef";
  const std::string bobs = "bob-0123456789abcdef00";
  const std::string tokens =
      private_file(folder.path() / "tokens", "alice " + alices + "\nbob " + bobs + "\n");
  const Serve serve({"--session-idle", "300ms", "--token-file", tokens}, {"--era", "modern"});
  WebClient alice(serve, Era::modern, bearer(alices));
  WebClient bob(serve, Era::modern, bearer(bobs));
  const pid_t hers = std::stoi(own_text(alice.call("pid")));
  Connection news = alice.send("subscriptions/listen",
                               {{"notifications", {{"resourceSubscriptions", json::array{"fake://hello"}}}}});
  ASSERT_TRUE(news.read_head().is_stream());
  ASSERT_TRUE(news.read_message());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(wait_gone({std::stoi(own_text(bob.call("pid")))}));
  EXPECT_EQ(own_text(alice.call("pid")), std::to_string(hers));
}

TEST(ServeEnds, a_modern_client_can_be_idle_and_return_without_a_session) {
  const Serve serve({"--session-idle", "300ms"}, {"--era", "modern"});
  WebClient client(serve, Era::modern);
  const pid_t before = std::stoi(own_text(client.call("pid")));
  EXPECT_TRUE(wait_gone({before}));
  EXPECT_NE(own_text(client.call("pid")), std::to_string(before));
}

TEST(ServeEnds, two_hundred_abandoned_sessions_leak_no_process_or_descriptor) {
  Serve serve({"--session-idle", "500ms"});
  const auto settled = [&] { return serve.servers().empty(); };
  {
    WebClient warm(serve);  // whatever is opened once and kept open
    warm.initialize();
  }
  ASSERT_TRUE(wait_until(settled, in_a_while()));
  const std::size_t before = open_fds(serve.child().pid());
  for (int i = 0; i < 200; ++i) {
    WebClient client(serve);
    client.initialize();
    if (i % 2 == 0) client.listen();
    if (i % 4 == 1) client.send_call("sleep", {{"ms", 50}});
  }
  EXPECT_TRUE(wait_until(settled, in_a_while()));
  EXPECT_TRUE(wait_until([&] { return open_fds(serve.child().pid()) <= before; }, in_a_while()))
      << before << " before, now " << open_fds(serve.child().pid());
}

}  // namespace
}  // namespace harness
