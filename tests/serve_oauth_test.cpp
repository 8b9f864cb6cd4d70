// `mcpivot serve --oauth-issuer`: who is admitted with a token of an authorization server, to what, and for
// how long.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "daemons.h"
#include "issuers.h"
#include "serves.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::AnyOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::StartsWith;

constexpr const char* ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";

Strings guarded(const Issuer& issuer, Strings more = {}) {
  Strings options{"--oauth-issuer", issuer.url(), "--audience", Issuer::audience};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// It was admitted: only the session is missing.
constexpr int let_in = 400;

int status_of(const Serve& serve, const std::string& token) {
  return serve.post(ping, bearer(token)).status;
}

TEST(ServeOauth, metadata_about_the_issuer_is_public) {
  const Issuer issuer;
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "config.json")
      << R"({"mcpServers": {"s": {"command": "${FAKE}"}}, "profiles": {
    "readers": {"scopes": ["read"]}, "ops": {"scopes": ["admin", "read"]}, "open": {"scopes": []}}})";
  const Serve serve(
      guarded(issuer, {"--config", folder.path() / "config.json", "--allow-origin", "https://app.example"}));
  const auto metadata = [&](const std::string& path) {
    const Reply reply = serve.ask("GET", "/.well-known/oauth-protected-resource" + path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_EQ(reply.header("Content-Type"), "application/json");
    return json::parse(reply.body).as_object();
  };
  for (const char* path : {"", "/mcp", "/mcp/readers", "/mcp/ops", "/mcp/nowhere"}) {
    const json::object all = metadata(path);
    EXPECT_EQ(all.at("resource"), Issuer::audience);
    EXPECT_EQ(all.at("authorization_servers"), (json::array{issuer.url()}));
    EXPECT_EQ(all.at("bearer_methods_supported"), (json::array{"header"}));
  }
  EXPECT_EQ(metadata("/mcp/readers").at("scopes_supported"), (json::array{"read"}));
  EXPECT_EQ(metadata("/mcp/ops").at("scopes_supported"), (json::array{"admin", "read"}));
  EXPECT_FALSE(metadata("/mcp/open").contains("scopes_supported"));
  EXPECT_THAT(serve.post(ping, "", "/mcp/open").header("WWW-Authenticate"), Not(HasSubstr("scope=")));
  EXPECT_EQ(metadata("").at("scopes_supported").as_array().size(), 2);

  const std::string place = "/.well-known/oauth-protected-resource/mcp";
  const Reply app = serve.ask("GET", place, "Origin: https://app.example\r\n");
  EXPECT_EQ(app.status, 200);
  EXPECT_EQ(app.header("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(serve.ask("OPTIONS", place, "Origin: https://app.example\r\n").status, 204);
  EXPECT_EQ(serve.ask("GET", place, "Origin: https://evil.example\r\n").status, 403);
  EXPECT_EQ(serve.ask("GET", place, "Host: evil.example\r\n").status, 403);
  EXPECT_EQ(serve.ask("POST", place, "Content-Type: application/json\r\n", "{}").status, 405);
  EXPECT_EQ(serve.ask("GET", "/.well-known/oauth-protected-resource/other").status, 404);
  EXPECT_EQ(Serve().ask("GET", place).status, 404);  // where there is no issuer
}

TEST(ServeOauth, a_client_without_a_valid_token_is_told_where_to_get_one) {
  const Issuer issuer;
  const Serve serve(guarded(issuer));
  const std::string place = "resource_metadata=\"http://localhost/.well-known/oauth-protected-resource/mcp\"";
  const Reply nobody = serve.post(ping);
  EXPECT_EQ(nobody.status, 401);
  EXPECT_THAT(nobody.header("WWW-Authenticate"),
              AllOf(StartsWith("Bearer "), HasSubstr(place), Not(HasSubstr("error"))));
  const Reply wrong = serve.post(ping, bearer("some-token-that-is-no-jwt"));
  EXPECT_EQ(wrong.status, 401);
  EXPECT_THAT(wrong.header("WWW-Authenticate"),
              AllOf(HasSubstr(place), HasSubstr("error=\"invalid_token\""),
                    HasSubstr("error_description=\"the token isn't a signed JWT\"")));
  EXPECT_EQ(serve.post(ping, bearer(issuer.token()) + bearer(issuer.token())).status, 401);
  EXPECT_EQ(serve.ask("POST", "/mcp?access_token=" + issuer.token(), "", ping).status, 401);
  // A malformed host name can't get into the header.
  const Reply malformed = serve.post(ping, "Host: localhost:1\" x=\"\r\n");
  EXPECT_EQ(malformed.status, 403);
  EXPECT_EQ(malformed.header("WWW-Authenticate"), "");

  const Serve proxied(
      guarded(issuer, {"--trusted-proxy", "127.0.0.1", "--public-url", "https://pivot.example/mcp"}));
  EXPECT_THAT(
      proxied.post(ping).header("WWW-Authenticate"),
      HasSubstr("resource_metadata=\"https://pivot.example/.well-known/oauth-protected-resource/mcp\""));
}

TEST(ServeOauth, a_session_belongs_to_its_subject_and_continues_with_a_new_token) {
  const Issuer issuer;
  const Serve serve(guarded(issuer));
  const std::string first = issuer.token({{"jti", "first"}});
  const std::string second = issuer.token({{"jti", "second"}});
  WebClient alice(serve, Era::legacy, bearer(first));
  alice.initialize();
  EXPECT_EQ(own_text(alice.call("echo", {{"text", "hello"}})), "hello");
  const pid_t server = serve.servers().at(0);

  WebClient later(serve, Era::legacy, bearer(second));
  later.session = alice.session;
  EXPECT_EQ(own_text(later.call("echo", {{"text", "again"}})), "again");
  EXPECT_EQ(serve.servers(), std::vector<pid_t>{server});

  WebClient bob(serve, Era::legacy, bearer(issuer.token({{"sub", "bob"}})));
  bob.session = alice.session;
  EXPECT_EQ(bob.notify("notifications/initialized").status, 404);
  EXPECT_EQ(bob.end().status, 404);

  WebClient modern(serve, Era::modern, bearer(first));
  WebClient modern_later(serve, Era::modern, bearer(second));
  WebClient modern_bob(serve, Era::modern, bearer(issuer.token({{"sub", "bob"}})));
  const std::string pid = own_text(modern.call("pid"));
  EXPECT_EQ(own_text(modern_later.call("pid")), pid);
  EXPECT_NE(own_text(modern_bob.call("pid")), pid);
  EXPECT_TRUE(wait_until(
      [&] { return serve.logged("tools/call from 127.0.0.1, " + issuer.url() + " alice") > 0; }, soon()));
}

TEST(ServeOauth, forged_foreign_and_expired_tokens_are_rejected) {
  const Issuer issuer;
  const Serve serve(guarded(issuer));
  const SigningKey& key = issuer.key();
  const std::string claims = issuer.claims();
  const std::int64_t now = epoch_now();
  const auto by = [&](const std::string& alg) {
    return R"({"typ":"at+jwt","alg":")" + alg + R"(","kid":"k1"})";
  };
  const auto unsigned_as = [&](const std::string& alg) {
    return host::base64url(by(alg)) + "." + host::base64url(claims) + ".";
  };
  const auto hmac = [&](const std::string& secret) {
    const std::string content = host::base64url(by("HS256")) + "." + host::base64url(claims);
    return content + "." + host::base64url(host::hmac_sha256(secret, content));
  };
  std::string twice = claims;
  twice.insert(1, R"("sub":"root",)");
  const std::map<std::string, std::string> attacks{
      {"no algorithm", unsigned_as("none")},
      {"no algorithm, with something for a signature", unsigned_as("none") + "AAAA"},
      {"no signature", unsigned_as("ES256")},
      {"the public key as a secret", hmac(key.pem())},
      {"the public key as a secret, as a JWK", hmac(key.jwk())},
      {"another key under the same name", SigningKey(SigningKey::Kind::p256, "k1").token(claims)},
      {"a key of another type", SigningKey(SigningKey::Kind::rsa, "k1").token(claims)},
      {"an algorithm for another type of key", key.token(by("EdDSA"), claims)},
      {"another audience", issuer.token({{"aud", "https://other.example/mcp"}})},
      {"no audience", issuer.token({{"aud", nullptr}})},
      {"audiences that aren't all strings", issuer.token({{"aud", json::array{Issuer::audience, 1}}})},
      {"an audience that only begins like ours",
       issuer.token({{"aud", std::string(Issuer::audience) + "/x"}})},
      {"another issuer", issuer.token({{"iss", "https://evil.example"}})},
      {"an issuer with a slash more", issuer.token({{"iss", issuer.url() + "/"}})},
      {"no subject", issuer.token({{"sub", nullptr}})},
      {"expired", issuer.token({{"exp", now - 61}})},
      {"of a clock five minutes behind", issuer.token({{"iat", now - 600}, {"exp", now - 300}})},
      {"of a clock five minutes ahead", issuer.token({{"iat", now + 300}, {"exp", now + 900}})},
      {"not valid yet", issuer.token({{"nbf", now + 300}})},
      {"without an end", issuer.token({{"exp", nullptr}})},
      {"an ID token", key.token(R"({"typ":"JWT","alg":"ES256","kid":"k1"})", claims)},
      {"without a type", key.token(R"({"alg":"ES256","kid":"k1"})", claims)},
      {"a critical header", key.token(key.header(R"(,"crit":["x"],"x":1)"), claims)},
      {"a claim twice", key.token(key.header(), twice)},
      {"a header twice", key.token(key.header(R"(,"alg":"none")"), claims)},
      {"a key of its own",
       SigningKey(SigningKey::Kind::p256, "mine")
           .token(R"({"typ":"at+jwt","alg":"ES256","kid":"mine","jwk":)" + key.jwk() + "}", claims)},
      {"too long", issuer.token({{"x", std::string(20'000, 'x')}})},
  };
  for (const auto& [what, token] : attacks) {
    const Reply reply = serve.post(ping, bearer(token));
    EXPECT_EQ(reply.status, 401) << what;
    EXPECT_THAT(reply.header("WWW-Authenticate"),
                HasSubstr("error=\"invalid_token\", error_description=\"the token"))
        << what;
  }
  // A minute of tolerance is allowed.
  EXPECT_EQ(status_of(serve, issuer.token({{"exp", now - 30}})), let_in);
  EXPECT_EQ(status_of(serve, issuer.token({{"aud", json::array{"other", Issuer::audience}}})), let_in);
  EXPECT_EQ(status_of(serve, issuer.token()), let_in);
  EXPECT_TRUE(serve.servers().empty());
}

TEST(ServeOauth, a_thousand_forged_tokens_cause_few_requests_to_the_issuer) {
  const Issuer issuer;
  const Serve serve(guarded(issuer));
  ASSERT_EQ(status_of(serve, issuer.token()), let_in);
  const int before = issuer.asked();
  const SigningKey other(SigningKey::Kind::ed25519, "other");
  for (int i = 0; i < 1000; ++i) {
    const std::string header =
        R"({"typ":"at+jwt","alg":"EdDSA","kid":"unknown-)" + std::to_string(i) + R"("})";
    ASSERT_EQ(status_of(serve, other.token(header, issuer.claims())), 401);
  }
  EXPECT_LE(issuer.asked() - before, 8);  // one in ten seconds; this takes a few on a slow machine
  EXPECT_EQ(status_of(serve, issuer.token({{"jti", "next"}})), let_in);
}

TEST(ServeOauth, scopes_open_profiles) {
  const Issuer issuer;
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "config.json";
  std::ofstream(file) << R"({"mcpServers": {"s": {"command": "${FAKE}"}}, "profiles": {
    "readers": {"scopes": ["read"], "tools": {"allow": ["echo"]}}, "ops": {"scopes": ["read", "admin"]},
    "open": {"scopes": []}, "closed": {}}})";
  const std::string static_token = "static-0123456789abcdef";
  const std::string tokens = private_file(folder.path() / "tokens", "carol " + static_token + "\n");
  const Serve serve(guarded(issuer, {"--config", file, "--token-file", tokens}));
  const auto asked = [&](const std::string& token, const std::string& path) {
    return serve.post(ping, bearer(token), path);
  };
  const std::string reader = issuer.token();
  const std::string admin = issuer.token({{"scope", "admin read other"}});
  const std::string nothing = issuer.token({{"scope", nullptr}});
  EXPECT_EQ(asked(reader, "/mcp/readers").status, let_in);
  EXPECT_EQ(asked(admin, "/mcp/readers").status, let_in);
  EXPECT_EQ(asked(admin, "/mcp/ops").status, let_in);
  EXPECT_EQ(asked(nothing, "/mcp/open").status, let_in);
  EXPECT_EQ(asked(nothing, "/mcp/nowhere").status, 404);

  const Reply lacking = asked(reader, "/mcp/ops");
  EXPECT_EQ(lacking.status, 403);
  EXPECT_THAT(
      lacking.header("WWW-Authenticate"),
      AllOf(
          HasSubstr("error=\"insufficient_scope\""), HasSubstr("scope=\"read admin\""),
          HasSubstr("resource_metadata=\"http://localhost/.well-known/oauth-protected-resource/mcp/ops\"")));
  EXPECT_EQ(asked(nothing, "/mcp/readers").status, 403);
  EXPECT_THAT(serve.post(ping, "", "/mcp/ops").header("WWW-Authenticate"), HasSubstr("scope=\"read admin\""));
  // A profile without scopes is closed, and so is /mcp, which shows everything.
  for (const char* path : {"/mcp/closed", "/mcp"}) {
    const Reply closed = asked(admin, path);
    EXPECT_EQ(closed.status, 403) << path;
    EXPECT_THAT(closed.body, HasSubstr("\"scopes\"")) << path;
  }
  // A line in the file of tokens says itself what it is for.
  for (const char* path : {"/mcp", "/mcp/readers", "/mcp/ops", "/mcp/closed"})
    EXPECT_EQ(asked(static_token, path).status, let_in) << path;
  EXPECT_EQ(asked(static_token + "x", "/mcp").status, 401);

  WebClient client(serve, Era::modern, bearer(reader));
  client.target = "/mcp/readers";
  EXPECT_EQ(own_text(client.call("echo", {{"text", "read"}})), "read");
  EXPECT_TRUE(client.call("pid").contains("error"));

  // Now the file says something else.
  std::ofstream(file)
      << R"({"mcpServers": {"s": {"command": "${FAKE}"}}, "profiles": {"readers": {"scopes": ["admin"]}}})";
  EXPECT_TRUE(wait_until([&] { return asked(reader, "/mcp/readers").status == 403; }, soon()));
}

TEST(ServeOauth, a_profile_with_scopes_is_closed_if_no_issuer_is_configured) {
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "config.json";
  std::ofstream(file)
      << R"({"mcpServers": {"s": {"command": "${FAKE}"}}, "profiles": {"ops": {"scopes": ["admin"]}}})";
  const Serve serve({"--config", file});
  const Reply reply = serve.post(ping, "", "/mcp/ops");
  EXPECT_EQ(reply.status, 403);
  EXPECT_THAT(reply.body, HasSubstr("--oauth-issuer"));
  EXPECT_EQ(serve.post(ping).status, let_in);
}

TEST(ServeOauth, streams_end_when_their_token_expires_and_calls_do_not) {
  const Issuer issuer;
  const Serve serve(guarded(issuer));
  WebClient client(serve, Era::legacy, bearer(issuer.token()));
  client.initialize();
  // Its minute of grace is almost over.
  WebClient brief(serve, Era::legacy, bearer(issuer.token({{"exp", epoch_now() - 56}})));
  brief.session = client.session;
  Connection stream = brief.listen();
  Connection call = brief.send_call("sleep", {{"ms", 7'000}});
  EXPECT_FALSE(stream.read_message(in(std::chrono::seconds(20))));
  EXPECT_EQ(serve.ask("GET", "/mcp", brief.headers() + "Accept: text/event-stream\r\n").status, 401);
  // With the next token, it can listen again.
  Connection next = client.listen(stream.last_id());
  EXPECT_FALSE(brief.await(call, in(std::chrono::seconds(20))).contains("error"));
  EXPECT_TRUE(serve.logged("a token has expired, and its stream is closed") > 0);
}

TEST(ServeOauth, a_modern_clients_listen_ends_when_its_token_expires) {
  const Issuer issuer;
  const Serve serve(guarded(issuer));
  // Its minute of grace is almost over.
  WebClient client(serve, Era::modern, bearer(issuer.token({{"exp", epoch_now() - 55}})));
  Connection news = client.send("subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}});
  ASSERT_TRUE(news.read_head().is_stream());
  const Deadline deadline = in(std::chrono::seconds(20));
  while (news.read_message(deadline)) {
  }
  EXPECT_TRUE(serve.logged("a token has expired, and its stream is closed") > 0);
}

TEST(ServeOauth, a_stream_ends_when_the_config_file_no_longer_grants_it) {
  const Issuer issuer;
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "config.json";
  const auto write = [&](const std::string& profile) {
    std::ofstream(file) << R"({"mcpServers": {"s": {"command": "${FAKE}"}}, "profiles": {"ops": {)" +
                               profile + "}}}";
  };
  for (const bool with_token : {true, false}) {
    write(with_token ? R"("scopes": ["read"])" : "");
    Strings options{"--config", file, "--session-idle", "2s"};
    const Serve serve(with_token ? guarded(issuer, options) : options);
    WebClient client(serve, Era::legacy, with_token ? bearer(issuer.token()) : Headers());
    client.target = "/mcp/ops";
    client.initialize();
    Connection stream = client.listen();
    write(R"("scopes": ["read", "admin"])");
    const Deadline deadline = in(std::chrono::seconds(20));
    while (stream.read_message(deadline)) {
    }
    EXPECT_EQ(client.notify("notifications/initialized").status, 403) << with_token;
  }
}

TEST(ServeOauth, requests_wait_while_keys_are_fetched) {
  Issuer issuer;
  issuer.hold(true);
  const Serve serve(guarded(issuer));
  std::vector<Connection> connections;
  for (int i = 0; i < 20; ++i) {
    connections.emplace_back(serve.address());
    connections.back().send(
        request_text("POST", "/mcp",
                     "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
                         bearer(i % 2 == 0 ? issuer.token()
                                           : SigningKey(SigningKey::Kind::p256, "k1").token(issuer.claims())),
                     ping));
  }
  ASSERT_TRUE(wait_until([&] { return issuer.asked() == 1; }, soon()));
  // Large bodies aren't kept before their token is verified.
  EXPECT_EQ(serve.post(std::string(2'000'000, ' '), bearer(issuer.token())).status, 503);
  EXPECT_EQ(serve.post(ping, bearer(issuer.token({{"aud", "other"}}))).status,
            401);  // no key can make it valid
  issuer.hold(false);
  for (std::size_t i = 0; i < connections.size(); ++i)
    EXPECT_EQ(connections[i].read().status, i % 2 == 0 ? let_in : 401) << i;
  EXPECT_EQ(issuer.asked(issuer.keys_path()), 1);
}

// The head of a request with a body of this size, which hasn't been sent; it has been admitted so far.
Connection announced(
    const Serve& serve, const std::string& token, std::size_t bytes, const std::string& method = "POST",
    const std::string& headers =
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n") {
  Connection connection(serve.address());
  connection.send(method + " /mcp HTTP/1.1\r\nHost: localhost\r\n" + headers + bearer(token) +
                  "Expect: 100-continue\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n");
  EXPECT_EQ(connection.read_head().status, 100);
  return connection;
}

TEST(ServeOauth, a_request_whose_body_arrives_after_the_keys_is_checked_like_any_other) {
  Issuer issuer;
  issuer.hold(true);
  const Serve serve(guarded(issuer));
  const std::string body = ping;
  const auto with = [&](const std::string& method, const std::string& type, const std::string& accept) {
    return announced(serve, issuer.token(), body.size(), method,
                     "Content-Type: " + type + "\r\nAccept: " + accept + "\r\n");
  };
  const std::string json = "application/json";
  const std::string both = "application/json, text/event-stream";
  std::vector<std::pair<int, Connection>> all;
  all.emplace_back(let_in, with("POST", json, both));
  all.emplace_back(405, with("PUT", json, both));
  all.emplace_back(405, with("BREW", json, both));
  all.emplace_back(415, with("POST", "text/plain", both));
  all.emplace_back(406, with("POST", json, "text/html"));
  issuer.hold(false);
  ASSERT_EQ(status_of(serve, issuer.token()), let_in);
  for (auto& [status, connection] : all) {
    connection.send(body);
    EXPECT_EQ(connection.read().status, status);
  }
}

TEST(ServeOauth, an_invalid_token_is_rejected_before_the_body_once_the_keys_arrive) {
  Issuer issuer;
  issuer.hold(true);
  const Serve serve(guarded(issuer));
  const std::string forged = SigningKey(SigningKey::Kind::p256, "k1").token(issuer.claims());
  Connection liar = announced(serve, forged, 1'000);
  Connection honest = announced(serve, issuer.token(), std::string_view(ping).size());
  issuer.hold(false);
  EXPECT_EQ(liar.read().status, 401);
  honest.send(ping);
  EXPECT_EQ(honest.read().status, let_in);
}

TEST(ServeOauth, requests_with_an_incomplete_body_count_as_waiting) {
  Issuer issuer;
  issuer.hold(true);
  const Serve serve(guarded(issuer));
  const std::string forged = SigningKey(SigningKey::Kind::p256, "k1").token(issuer.claims());
  std::vector<Connection> many;
  for (int i = 0; i < 256; ++i) many.push_back(announced(serve, forged, 10));
  const Reply refused = serve.post(ping, bearer(issuer.token()));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  many.clear();  // closing a connection makes room
  std::vector<Connection> large;
  ASSERT_TRUE(wait_until(
      [&] {
        large.emplace_back(serve.address());
        large.back().send("POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + bearer(forged) +
                          "Expect: 100-continue\r\nContent-Length: 1048576\r\n\r\n");
        if (large.back().read_head().status == 100) return true;
        large.pop_back();
        return false;
      },
      soon()));
  while (large.size() < 32) large.push_back(announced(serve, forged, 1'048'576));
  EXPECT_EQ(serve.post(ping, bearer(issuer.token())).status, 503);
  issuer.hold(false);
  for (Connection& one : large) EXPECT_EQ(one.read().status, 401);
  EXPECT_EQ(status_of(serve, issuer.token()), let_in);
}

TEST(ServeOauth, requests_waiting_for_keys_are_answered_when_mcpivot_ends) {
  Issuer issuer;
  issuer.hold(true);
  Serve serve(guarded(issuer));
  Connection half = announced(serve, issuer.token(), 100);
  Connection whole(serve.address());
  whole.send(
      request_text("POST", "/mcp",
                   "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
                       bearer(issuer.token()),
                   ping));
  ASSERT_EQ(serve.ask("GET", "/healthz").status, 200);  // which arrived later
  serve.child().signal(SIGTERM);
  for (Connection* one : {&half, &whole}) {
    const Reply reply = one->read();
    EXPECT_EQ(reply.status, 503);
    EXPECT_THAT(reply.body, HasSubstr("mcpivot is shutting down"));
  }
}

TEST(ServeOauth, known_keys_still_work_while_the_issuer_is_down) {
  Issuer issuer;
  issuer.stop();
  Serve serve(guarded(issuer));
  Reply reply = serve.post(ping, bearer(issuer.token()));
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(std::stoi(reply.header("Retry-After")), AllOf(Ge(1), Le(60)));
  EXPECT_EQ(serve.post(ping).status, 401);
  issuer.start();
  ASSERT_TRUE(
      wait_until([&] { return status_of(serve, issuer.token()) == let_in; }, in(std::chrono::seconds(20))));
  issuer.stop();
  EXPECT_EQ(status_of(serve, issuer.token({{"jti", "another"}})), let_in);
  EXPECT_TRUE(serve.child().wait_stderr("can't be fetched", soon()));
}

TEST(ServeOauth, an_oversized_key_set_is_not_read) {
  Issuer issuer;
  issuer.put(issuer.keys_path(), SigningKey::set(issuer.key().jwk()) + std::string(10'000'000, ' '));
  const Serve serve(guarded(issuer));
  EXPECT_EQ(status_of(serve, issuer.token()), 503);
  issuer.put(issuer.keys_path(), SigningKey::set(issuer.key().jwk()));
  EXPECT_TRUE(
      wait_until([&] { return status_of(serve, issuer.token()) == let_in; }, in(std::chrono::seconds(20))));
}

TEST(ServeOauth, metadata_of_another_issuer_is_not_trusted) {
  Issuer issuer;
  const SigningKey evil(SigningKey::Kind::p256, "k1");
  issuer.put("/.well-known/oauth-authorization-server",
             json::serialize(
                 json::object{{"issuer", "https://evil.example"}, {"jwks_uri", issuer.url() + "/evil"}}));
  issuer.put("/evil", SigningKey::set(evil.jwk()));
  const Serve serve(guarded(issuer));
  EXPECT_EQ(status_of(serve, evil.token(issuer.claims())), 503);
  EXPECT_EQ(issuer.asked("/evil"), 0);
}

// Between mcpivot and a server: records every byte sent to the server.
class Tap {
 public:
  explicit Tap(int to) : to_(to), port_(free_port()) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = at(port_);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener_, 16) != 0)
      throw std::runtime_error("no tap");
    thread_ = std::thread([this] { run(); });
  }
  ~Tap() {
    stops_ = true;
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/mcp"; }
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  static sockaddr_in at(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  void run() {
    std::vector<std::pair<int, int>> pairs;  // from, to; each way
    while (!stops_) {
      std::vector<pollfd> waits{{.fd = listener_, .events = POLLIN, .revents = 0}};
      for (const auto& [from, to] : pairs) waits.push_back({.fd = from, .events = POLLIN, .revents = 0});
      if (::poll(waits.data(), waits.size(), 50) <= 0) continue;
      std::vector<int> ended;
      for (std::size_t i = 1; i < waits.size(); ++i) {
        if (waits[i].revents == 0) continue;
        const auto [from, to] = pairs[i - 1];
        char room[65536];
        const ssize_t count = ::recv(from, room, sizeof(room), MSG_DONTWAIT);
        if (count <= 0) {
          ended.push_back(from);
          continue;
        }
        if ((i - 1) % 2 == 0) {
          const std::lock_guard lock(mutex_);
          heard_.append(room, static_cast<std::size_t>(count));
        }
        static_cast<void>(::send(to, room, static_cast<std::size_t>(count), MSG_NOSIGNAL));
      }
      for (std::size_t i = 0; i < pairs.size(); i += 2)
        if (std::ranges::find(ended, pairs[i].first) != ended.end() ||
            std::ranges::find(ended, pairs[i].second) != ended.end()) {
          ::close(pairs[i].first);
          ::close(pairs[i].second);
          pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i),
                      pairs.begin() + static_cast<std::ptrdiff_t>(i) + 2);
          i -= 2;
        }
      if (waits[0].revents == 0) continue;
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address = at(to_);
      if (::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        ::close(client);
        ::close(server);
        continue;
      }
      pairs.emplace_back(client, server);
      pairs.emplace_back(server, client);
    }
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      ::close(pairs[i].first);
      ::close(pairs[i].second);
    }
  }

  int to_;
  int port_;
  int listener_ = -1;
  std::atomic<bool> stops_ = false;
  mutable std::mutex mutex_;
  std::string heard_;
  std::thread thread_;
};

// Everything that a process can read about how it was started.
std::string given_to(pid_t pid) {
  return content_of("/proc/" + std::to_string(pid) + "/environ") +
         content_of("/proc/" + std::to_string(pid) + "/cmdline");
}

TEST(ServeOauth, a_clients_token_reaches_no_server_and_no_file) {
  const Issuer issuer;
  const FakeDaemon daemon;
  const Tap tap(daemon.port());
  const TemporaryDirectory folder;
  const fs::path file = folder.path() / "config.json";
  std::ofstream(file)
      << R"({"mcpServers": {"process": {"command": "${FAKE}", "active": true}, "daemon": {"url": ")" +
             tap.url() +
             R"(", "active": true}}, "profiles": {"default": {"scopes": ["read"], "control": ["build", "restart", "logs"]}}})";
  Serve serve(guarded(issuer, {"--config", file, "--log-level", "trace"}));
  const std::string token = issuer.token();
  const std::string signature = token.substr(token.rfind('.') + 1);
  std::string answers;
  for (const Era era : {Era::legacy, Era::modern}) {
    WebClient client(serve, era, bearer(token));
    if (era == Era::legacy) client.initialize();
    EXPECT_EQ(own_text(client.call("process__echo", {{"text", "hello"}})), "hello");
    answers += json::serialize(client.call("process__seen"));
    answers += json::serialize(client.call("daemon__" + std::string("echo"), {{"text", "hello"}}));
    answers += json::serialize(client.call("pivot_status"));
    answers += client.heard;
  }
  EXPECT_THAT(answers, HasSubstr("tools/call"));  // which the server has seen
  EXPECT_THAT(tap.heard(), HasSubstr("tools/call"));
  const auto pids = serve.servers();
  ASSERT_FALSE(pids.empty());
  std::string all = answers + tap.heard() + serve.child().stderr_text();
  for (const pid_t pid : pids) all += given_to(pid);
  EXPECT_THAT(all, HasSubstr("PATH="));
  std::size_t files = 0;
  for (const auto& each : fs::recursive_directory_iterator(serve.directory()))
    if (each.is_regular_file() && each.path().filename() != "fake_server") {
      all += content_of(each.path());
      ++files;
    }
  EXPECT_GT(files, 1);  // the log, the sessions
  // The token was used, but nothing of it is stored: neither its signature nor the header it came in.
  EXPECT_THAT(all, HasSubstr(issuer.url() + " alice"));
  EXPECT_EQ(all.find(token), std::string::npos);
  EXPECT_EQ(all.find(signature), std::string::npos);
  EXPECT_EQ(tap.heard().find("uthorization"), std::string::npos);
}

TEST(ServeOauth, check_shows_which_scopes_open_which_profile) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "mcpivot.json") << R"({"mcpServers": {"s": {"command": "true"}}, "profiles": {
    "readers": {"scopes": ["db.read"], "tools": {"allow": ["read_*"]}}, "ops": {"control": ["logs"]},
    "all": {"scopes": []}, "bad": {"scopes": ["a b"]}}})";
  const Outcome outcome = run_mcpivot({"check"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("/mcp/readers"), HasSubstr("scopes    db.read"),
                                 HasSubstr("scopes    not given: closed to tokens of --oauth-issuer"),
                                 HasSubstr("scopes    none needed: every token of --oauth-issuer"),
                                 HasSubstr("\"bad\", closed: it has errors"), HasSubstr("isn't a scope"),
                                 HasSubstr("/mcp  without a profile: closed")));
}

TEST(ServeOauth, options_that_would_let_others_in_are_rejected) {
  for (const auto& [options, advice] : std::vector<std::pair<Strings, std::string>>{
           {{"--oauth-issuer", "https://issuer.example"}, "--audience is missing"},
           {{"--audience", "https://pivot.example/mcp"}, "--oauth-issuer is missing"},
           {{"--oauth-issuer", "http://issuer.example", "--audience", "a"}, "https://"},
           {{"--oauth-issuer", "issuer.example", "--audience", "a"}, "https://"},
           {{"--oauth-issuer", "https://issuer.example?x=1", "--audience", "a"}, "query"},
           {{"--oauth-issuer", "https://issuer.example", "--audience", "a b"}, "--audience"},
           {{"--oauth-issuer", "https://issuer.example", "--audience", "a", "--no-auth"}, "--no-auth"}}) {
    const TemporaryDirectory folder;
    Strings command{"serve", "--listen", "127.0.0.1:0"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", "true"});
    const Outcome outcome = run_mcpivot(command, folder.path());
    EXPECT_EQ(outcome.exit_code, 2) << advice;
    EXPECT_THAT(outcome.err, HasSubstr(advice));
  }
}

}  // namespace
}  // namespace harness
