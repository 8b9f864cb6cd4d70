// Who `mcpivot serve` admits, and what it says to everyone else.
#include "serves.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";

const std::string alices = "alice-0123456789abcdef";
const std::string bobs = "bob-0123456789abcdef00";

TEST(ServeAdmission, requests_that_cannot_be_served_get_an_explanation) {
  const Serve serve;
  const Reply elsewhere = serve.ask("GET", "/other");
  EXPECT_EQ(elsewhere.status, 404);
  EXPECT_THAT(elsewhere.body, HasSubstr("MCP is at /mcp"));

  const Reply put = serve.ask("PUT", "/mcp", "Content-Type: application/json\r\n", ping);
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.header("Allow"), "POST, GET, DELETE, OPTIONS");
  EXPECT_EQ(serve.ask("GET", "/mcp", "Accept: text/event-stream\r\n").status, 405);
  EXPECT_EQ(serve.ask("DELETE", "/mcp").status, 405);

  const Reply accepts =
      serve.ask("POST", "/mcp", "Content-Type: application/json\r\nAccept: application/json\r\n", ping);
  EXPECT_EQ(accepts.status, 406);
  EXPECT_THAT(accepts.body, HasSubstr("text/event-stream"));
  const Reply typed = serve.ask(
      "POST", "/mcp", "Content-Type: text/plain\r\nAccept: application/json, text/event-stream\r\n", ping);
  EXPECT_EQ(typed.status, 415);
  EXPECT_THAT(typed.body, HasSubstr("application/json"));

  const Reply nameless = serve.post(ping);
  EXPECT_EQ(nameless.status, 400);
  EXPECT_THAT(nameless.body, HasSubstr("`initialize`"));
  const Reply broken = serve.post("{");
  EXPECT_EQ(broken.status, 400);
  EXPECT_THAT(broken.body, HasSubstr("-32700"));
  const Reply future = serve.post(ping, "MCP-Protocol-Version: 2999-01-01\r\n");
  EXPECT_EQ(future.status, 400);
  EXPECT_THAT(future.body, HasSubstr("2025-11-25"));
  const Reply unknown = serve.post(ping, "Mcp-Session-Id: made.up\r\n");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("There is no such session"));
  EXPECT_TRUE(serve.servers().empty());  // none was needed so far
}

TEST(ServeAdmission, a_modern_request_whose_headers_contradict_its_body_is_rejected) {
  const Serve serve;
  const std::string body = boost::json::serialize(boost::json::object{
      {"jsonrpc", "2.0"},
      {"id", 1},
      {"method", "tools/call"},
      {"params", {{"name", "echo"}, {"arguments", boost::json::object()}, {"_meta", modern_meta()}}}});
  const auto status = [&](const std::string& version, const std::string& method, const std::string& name) {
    const Reply reply = serve.post(body, "MCP-Protocol-Version: " + version + "\r\nMcp-Method: " + method +
                                             "\r\nMcp-Name: " + name + "\r\n");
    if (reply.status != 200) {
      EXPECT_THAT(reply.body, HasSubstr("-32020"));
    }
    return reply.status;
  };
  EXPECT_EQ(status("2025-11-25", "tools/call", "echo"), 400);
  EXPECT_EQ(status("2026-07-28", "tools/list", "echo"), 400);
  EXPECT_EQ(status("2026-07-28", "tools/call", "fail"), 400);
  EXPECT_EQ(serve.post(body, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n").status, 400);
  EXPECT_TRUE(serve.servers().empty());
  EXPECT_EQ(status("2026-07-28", "tools/call", "echo"), 200);
  EXPECT_EQ(status("2026-07-28", "tools/call", "=?base64?ZWNobw==?="), 200);
}

TEST(ServeAdmission, foreign_host_names_and_origins_are_rejected) {
  const Serve serve({"--allow-host", "Pivot.example", "--allow-origin", "https://app.example"});
  const std::string own = "127.0.0.1:" + std::to_string(serve.address().port);
  const auto asked = [&](const Headers& headers) { return serve.post(ping, headers); };
  EXPECT_EQ(asked("Host: " + own + "\r\n").status, 400);  // admitted: only the session is missing
  EXPECT_EQ(asked("Host: pivot.example\r\n").status, 400);
  const Reply rebound = asked("Host: evil.example\r\n");
  EXPECT_EQ(rebound.status, 403);
  EXPECT_THAT(rebound.body, HasSubstr("--allow-host"));

  const Reply evil = asked("Origin: https://evil.example\r\n");
  EXPECT_EQ(evil.status, 403);
  EXPECT_THAT(evil.body, HasSubstr("--allow-origin"));
  EXPECT_EQ(evil.header("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(asked("Origin: null\r\n").status, 403);
  EXPECT_EQ(asked("Origin: http://" + own + "\r\n").status, 400);
  EXPECT_EQ(asked("Origin: https://" + own + "\r\n").status, 403);
  const Reply app = asked("Origin: https://app.example\r\n");
  EXPECT_EQ(app.status, 400);
  EXPECT_EQ(app.header("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_THAT(app.header("Access-Control-Expose-Headers"), HasSubstr("Mcp-Session-Id"));
}

TEST(ServeAdmission, an_absolute_target_is_served_if_its_host_is_ours) {
  const Serve serve;
  const Headers headers = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
  EXPECT_EQ(serve.ask("POST", "http://localhost/mcp", headers, ping).status, 400);  // admitted: no session
  EXPECT_EQ(serve.ask("POST", "http://evil.example/mcp", headers, ping).status, 403);
  EXPECT_EQ(serve.ask("POST", "http://localhost/mcp", headers + "Host: evil.example\r\n", ping).status, 400);
}

// "http: … from ADDRESS" in the log.
std::string audited(const Serve& serve, const std::string& what) {
  std::string line;
  EXPECT_TRUE(wait_until(
      [&] {
        for (const auto& file : fs::recursive_directory_iterator(serve.directory())) {
          if (file.path().extension() != ".log") continue;
          for (const std::string& each : lines_in(content_of(file.path())))
            if (const auto at = each.find("http: " + what); at != std::string::npos) line = each.substr(at);
        }
        return !line.empty();
      },
      soon()));
  return line;
}

TEST(ServeAdmission, only_a_trusted_proxy_can_say_where_a_request_comes_from) {
  const Headers forged = "Host: localhost\r\nX-Forwarded-For: 192.0.2.66, 203.0.113.9, 10.0.0.7\r\n";
  const Serve trusting({"--no-auth", "--trusted-proxy", "127.0.0.1", "--trusted-proxy", "10.0.0.0/8"});
  EXPECT_EQ(trusting.post(ping, forged).status, 400);
  EXPECT_EQ(audited(trusting, "ping"), "http: ping from 203.0.113.9");
  EXPECT_EQ(trusting.ask("DELETE", "/mcp", forged).status, 405);
  EXPECT_EQ(audited(trusting, "DELETE"), "http: DELETE from 203.0.113.9");
  EXPECT_EQ(trusting.post(ping, forged + "X-Forwarded-Host: evil.example\r\n").status, 403);
  EXPECT_EQ(audited(trusting, "POST /mcp"), "http: POST /mcp from 203.0.113.9: 403");
  const Serve wary({"--no-auth", "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "unix"});
  EXPECT_EQ(wary.post(ping, forged + "X-Forwarded-Host: evil.example\r\n").status, 400);
  EXPECT_EQ(audited(wary, "ping"), "http: ping from 127.0.0.1");
}

TEST(ServeAdmission, an_invalid_trusted_proxy_is_an_error_that_says_what_to_write) {
  for (const auto& [value, advice] : {std::pair{"nginx", "10.0.0.0/8"},
                                      {"127.0.0.1:80", "without a port"},
                                      {"10.0.0.0/40", "from 0 to 32"},
                                      {"10.1.0.0/8", "or 10.0.0.0/8 for the whole network"}}) {
    const TemporaryDirectory folder;
    const Outcome outcome = run_mcpivot({"serve", "--listen", "127.0.0.1:0", "--no-auth", "--trusted-proxy",
                                         value, "--", fake_server_binary()},
                                        folder.path());
    EXPECT_EQ(outcome.exit_code, 2) << value;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("--trusted-proxy"), HasSubstr(value), HasSubstr(advice)));
  }
}

// Loopback alone no longer means that only programs of this machine can connect.
TEST(ServeAdmission, behind_a_proxy_tokens_are_required_even_on_loopback) {
  const TemporaryDirectory folder;
  const Outcome outcome = run_mcpivot(
      {"serve", "--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1", "--", "true"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--token-file"), HasSubstr("--no-auth")));
}

TEST(ServeAdmission, a_preflight_request_says_what_a_page_may_send) {
  const Serve serve({"--allow-origin", "https://app.example"});
  const Reply may = serve.ask("OPTIONS", "/mcp",
                              "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n"
                              "Access-Control-Request-Headers: mcp-param-city, x-other\r\n");
  EXPECT_EQ(may.status, 204);
  EXPECT_EQ(may.header("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_THAT(may.header("Access-Control-Allow-Methods"), HasSubstr("DELETE"));
  const std::string headers = may.header("Access-Control-Allow-Headers");
  for (const char* name :
       {"Authorization", "Content-Type", "Last-Event-ID", "Mcp-Session-Id", "mcp-param-city"})
    EXPECT_THAT(headers, HasSubstr(name));
  EXPECT_THAT(headers, Not(HasSubstr("x-other")));
  EXPECT_EQ(serve.ask("OPTIONS", "/mcp", "Origin: https://evil.example\r\n").status, 403);
}

TEST(ServeAdmission, tokens_are_required_and_a_session_belongs_to_its_owner) {
  const TemporaryDirectory folder;
  const std::string file = private_file(folder.path() / "tokens", "alice " + alices + "\nbob " + bobs + "\n");
  const Serve serve({"--token-file", file});
  const Reply nobody = serve.post(ping);
  EXPECT_EQ(nobody.status, 401);
  EXPECT_THAT(nobody.header("WWW-Authenticate"), StartsWith("Bearer"));
  EXPECT_THAT(nobody.header("WWW-Authenticate"), Not(HasSubstr("invalid_token")));
  const Reply wrong = serve.post(ping, bearer("mallory-0123456789abcdef"));
  EXPECT_EQ(wrong.status, 401);
  EXPECT_THAT(wrong.header("WWW-Authenticate"), HasSubstr("invalid_token"));

  WebClient alice(serve, Era::legacy, bearer(alices));
  alice.initialize();
  EXPECT_EQ(own_text(alice.call("echo", {{"text", "hello"}})), "hello");
  WebClient bob(serve, Era::legacy, bearer(bobs));
  bob.session = alice.session;
  EXPECT_EQ(bob.notify("notifications/initialized").status, 404);
  EXPECT_EQ(bob.end().status, 404);
  EXPECT_EQ(serve.ask("GET", "/mcp", bob.headers() + "Accept: text/event-stream\r\n").status, 404);
  EXPECT_EQ(serve.post(ping, "Mcp-Session-Id: " + alice.session + "\r\n").status, 401);
  EXPECT_EQ(own_text(alice.call("echo", {{"text", "still here"}})), "still here");
}

TEST(ServeAdmission, rejected_requests_are_logged_with_the_users_name) {
  const TemporaryDirectory folder;
  const std::string file = private_file(folder.path() / "tokens", "alice " + alices + "\n");
  const Serve serve({"--token-file", file});
  EXPECT_EQ(serve.post(ping, bearer(alices), "/mcp/other").status, 404);
  EXPECT_EQ(serve.ask("PUT", "/mcp", bearer(alices)).status, 405);
  EXPECT_EQ(serve.post("nonsense", bearer(alices)).status, 400);
  EXPECT_EQ(serve.logged("POST /mcp/other from 127.0.0.1, alice: 404"), 1U);
  EXPECT_EQ(serve.logged("PUT /mcp from 127.0.0.1, alice: 405"), 1U);
  EXPECT_EQ(serve.logged("something that isn't a message from 127.0.0.1, alice"), 1U);
}

TEST(ServeAdmission, removing_a_token_ends_only_its_own_streams_and_servers) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "tokens";
  private_file(file, "alice " + alices + "\nbob " + bobs + "\n");
  Serve serve({"--token-file", file});
  WebClient alice(serve, Era::legacy, bearer(alices));
  WebClient bob(serve, Era::legacy, bearer(bobs));
  alice.initialize();
  bob.initialize();
  const std::string alices_server = own_text(alice.call("pid"));
  const pid_t bobs_server = std::stoi(own_text(bob.call("pid")));
  Connection alice_hears = alice.listen();
  Connection bob_hears = bob.listen();

  private_file(file, "alice " + alices + "\n");
  EXPECT_EQ(bob_hears.read_message(in(std::chrono::seconds(20))), std::nullopt);
  EXPECT_TRUE(wait_gone({bobs_server}));
  EXPECT_EQ(bob.notify("notifications/initialized").status, 401);
  EXPECT_EQ(own_text(alice.call("pid")), alices_server);
  alice.call("notify", {{"method", "notifications/marker"}});
  EXPECT_EQ(alice_hears.read_message()->at("method"), "notifications/marker");
}

TEST(ServeAdmission, listening_beyond_this_machine_requires_authentication_or_no_auth) {
  const TemporaryDirectory folder;
  for (const char* address : {"0.0.0.0:0", "*:0", "[::]:0"}) {
    const Outcome refused =
        run_mcpivot({"serve", "--listen", address, "--", fake_server_binary()}, folder.path());
    EXPECT_EQ(refused.exit_code, 2) << address;
    EXPECT_THAT(refused.err, HasSubstr("--token-file"));
    EXPECT_THAT(refused.err, HasSubstr("--no-auth"));
  }
  const Serve open({"--no-auth"}, {}, {"0.0.0.0:0"});
  WebClient client(open);
  client.initialize();
  EXPECT_EQ(own_text(client.call("echo", {{"text", "hello"}})), "hello");
}

TEST(ServeAdmission, a_unix_socket_serves_any_process_that_may_open_it) {
  const Serve serve({}, {}, {"unix:pivot.sock"});
  WebClient client(serve);
  client.initialize();
  EXPECT_EQ(own_text(client.call("echo", {{"text", "hello"}})), "hello");
  EXPECT_EQ(fs::status(serve.address().path).permissions() & fs::perms::mask, fs::perms(0600));
}

// mcpivot itself is the client: it checks the certificate.
TEST(ServeAdmission, tls_works_with_a_certificate_that_the_client_checks) {
  const TemporaryDirectory folder;
  const std::string key = folder.path() / "key.pem";
  const std::string certificate = folder.path() / "cert.pem";
  const Outcome made =
      run_to_end({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                  "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                  "subjectAltName=DNS:localhost,IP:127.0.0.1"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Serve serve({"--cert", certificate, "--key", key});
  const std::string url = "https://127.0.0.1:" + std::to_string(serve.address().port) + "/mcp";
  Client trusting({.options = {"--url", url, "--cacert", certificate}});
  trusting.initialize();
  EXPECT_EQ(trusting.call_text("echo", {{"text", "hello"}}), "hello");
  Connection plain(serve.address());
  plain.send(request_text("GET", "/healthz", {}, {}));
  const Reply refused = plain.read();
  EXPECT_EQ(refused.status, 400) << refused.body;
}

}  // namespace
}  // namespace harness
