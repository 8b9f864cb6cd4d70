// Real daemons: the reference server in both of its HTTP transports, one made with the official SDK, nginx
// and TLS in front. They are killed, stopped and restarted under load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "daemons.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

const std::string peers = PEERS_DIRECTORY;

Daemon everything(const std::string& transport) {
  const int port = free_port();
  return {port,
          {"node", peers + "/node_modules/@modelcontextprotocol/server-everything/dist/index.js", transport},
          {{"PORT", std::to_string(port)}}};
}

Daemon resumable() {
  const int port = free_port();
  return {port, {"node", peers + "/lib/resumable-daemon.mjs", std::to_string(port)}};
}

// Without these packages, every other test would fail.
class RealDaemons : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(peers + "/node_modules"))
        << "the npm packages of tests/peers are missing; ./dev test installs them";
  }
};

TEST_F(RealDaemons, the_reference_server_works_over_streamable_http) {
  Daemon daemon = everything("streamableHttp");
  daemon.start();
  Client client(to(daemon.url()));
  client.initialize();
  EXPECT_THAT(tools_of(client), AllOf(Contains("echo"), Contains("trigger-sampling-request")));
  EXPECT_EQ(client.call_text("echo", {{"message", "hi"}}), "Echo: hi");
  const std::int64_t id = client.send_call("trigger-sampling-request", {{"prompt", "p"}, {"maxTokens", 5}});
  client.answer(
      client.expect_request("sampling/createMessage"),
      {{"role", "assistant"}, {"model", "m"}, {"content", {{"type", "text"}, {"text", "sampled"}}}});
  EXPECT_THAT(json::serialize(client.await(id)), HasSubstr("sampled"));
  daemon.kill();
  const std::int64_t waits = client.send_call("echo", {{"message", "later"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  daemon.start();
  EXPECT_EQ(own_text(client.await(waits)), "Echo: later");
}

TEST_F(RealDaemons, the_reference_server_works_over_the_old_transport) {
  Daemon daemon = everything("sse");
  daemon.start();
  Client client(to(daemon.url("/sse")));
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"message", "hi"}}), "Echo: hi");
  EXPECT_THAT(status_of(client, "transport"), HasSubstr("2024-11-05"));
  daemon.kill();
  const std::int64_t waits = client.send_call("echo", {{"message", "later"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  daemon.start();
  EXPECT_EQ(own_text(client.await(waits)), "Echo: later");
}

TEST_F(RealDaemons, a_stream_broken_by_the_sdk_is_resumed) {
  Daemon daemon = resumable();
  daemon.start();
  Client client(to(daemon.url()));
  client.initialize("2025-11-25");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.call_text("drop"), "dropped and found");
  EXPECT_EQ(status_of(client, "reconnects"), "0");
}

TEST_F(RealDaemons, queued_calls_arrive_in_order) {
  Daemon daemon = resumable();
  daemon.start();
  Client client(to(daemon.url()));
  client.initialize();
  daemon.kill();
  std::vector<std::int64_t> sent;
  std::string order;
  for (int i = 0; i < 100; ++i) {
    sent.push_back(client.send_call("count", {{"text", std::to_string(i)}}));
    order += (order.empty() ? "" : " ") + std::to_string(i);
  }
  ASSERT_TRUE(wait_status(client, "waiting", "100"));
  daemon.start();
  for (const std::int64_t id : sent) EXPECT_FALSE(is_error(client.await(id)));
  EXPECT_EQ(own(client, "arrivals"), order);
}

TEST_F(RealDaemons, a_suspended_daemon_answers_once_it_continues) {
  Daemon daemon = resumable();
  daemon.start();
  Client client(to(daemon.url()));
  client.initialize();
  daemon.child().signal(SIGSTOP);
  const std::int64_t id = client.send_call("read", {{"text", "slow"}});
  ASSERT_TRUE(wait_status(client, "in flight", "1"));
  daemon.child().signal(SIGCONT);
  EXPECT_EQ(own_text(client.await(id)), "slow");
  EXPECT_EQ(status_of(client, "reconnects"), "0");
}

TEST_F(RealDaemons, a_call_of_a_silent_daemon_times_out) {
  Daemon daemon = resumable();
  daemon.start();
  Client client(to(daemon.url(), {"--call-timeout", "500ms"}));
  client.initialize();
  daemon.child().signal(SIGSTOP);
  EXPECT_THAT(text_of(client.call("count")),
              AllOf(HasSubstr("timed out after"), HasSubstr("may have taken effect")));
  daemon.child().signal(SIGCONT);
  EXPECT_FALSE(is_error(client.call("count")));
}

TEST_F(RealDaemons, a_daemon_that_moves_to_another_port_and_back_is_found_again) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  daemon.kill();
  const FakeDaemon elsewhere;
  const std::int64_t id = client.send_call("echo", {{"text", "here"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  daemon.start();
  EXPECT_EQ(own_text(client.await(id)), "here");
  EXPECT_EQ(elsewhere.times(R"(1 echo {"text":"here"})"), 0u);
}

// Calls continue while the daemon is killed and started; each one is answered once, and one that
// has an effect is made at most once.
template <class Restart>
void restart_under_load(Client& client, int restarts, const std::string& unsafe, const std::string& safe,
                        Restart restart) {
  std::vector<std::int64_t> open;
  std::size_t answered = 0;
  int number = 0;
  auto send = [&] {
    const std::string& tool = number % 2 == 0 ? unsafe : safe;
    open.push_back(client.send_call(tool, {{"text", std::to_string(number++)}}));
  };
  for (int i = 0; i < 16; ++i) send();
  for (int life = 0; life < restarts; ++life) {
    for (int i = 0; i < 20; ++i) {
      const json::object answer = client.await(open.front(), in(seconds(30)));
      open.erase(open.begin());
      ++answered;
      if (is_error(answer)) {
        EXPECT_THAT(text_of(answer), HasSubstr("Outcome unknown"));
      }
      send();
    }
    restart();
  }
  for (const std::int64_t id : open) {
    client.await(id, in(seconds(30)));
    ++answered;
  }
  EXPECT_EQ(answered, static_cast<std::size_t>(number));
  EXPECT_THAT(client.answers, testing::IsEmpty()) << "something was answered twice";
}

TEST_F(RealDaemons, fifty_restarts_under_load_lose_and_repeat_no_call) {
  FakeDaemon daemon;
  Client client(to(daemon.url()));
  client.initialize();
  restart_under_load(client, 50, "echo", "read", [&] { daemon.restart(); });
  std::multiset<std::string> echoes;
  for (const std::string& line : daemon.journal())
    if (const auto at = line.find(" echo "); at != std::string::npos) echoes.insert(line.substr(at));
  for (const std::string& echo : echoes) EXPECT_EQ(echoes.count(echo), 1u) << echo;
}

TEST_F(RealDaemons, an_sdk_daemon_survives_kills_under_load_too) {
  Daemon daemon = resumable();
  daemon.start();
  Client client(to(daemon.url()));
  client.initialize();
  restart_under_load(client, is_instrumented() ? 10 : 50, "count", "read", [&] {
    daemon.kill();
    daemon.start();
  });
}

// ---- nginx and TLS.

void run(const std::string& command) {
  if (std::system((command + " >/dev/null 2>&1").c_str()) != 0)
    throw std::runtime_error("failed: " + command);
}

// The system's nginx, or the one that ./dev fetched.
std::string nginx_program() {
  const char* fetched = std::getenv("NGINX");
  return fetched != nullptr ? fetched : "/usr/sbin/nginx";
}

// nginx in front of a port, with a certificate of a test authority.
class Nginx {
 public:
  explicit Nginx(int behind) : port_(free_port()) {
    const std::string folder = directory_.path();
    const std::string in = "cd " + folder + " && ";
    const std::string key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";
    std::ofstream(folder + "/names") << "subjectAltName=DNS:localhost,DNS:daemon.test,IP:127.0.0.1\n";
    run(in + "openssl req -x509 " + key + "-keyout ca.key -out ca.pem -days 2 -subj '/CN=test authority'");
    run(in + "openssl req " + key + "-keyout nginx.key -out nginx.csr -subj '/CN=localhost'");
    run(in +
        "openssl x509 -req -in nginx.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out nginx.pem -days 2 "
        "-extfile names");
    std::ofstream(folder + "/nginx.conf")
        << "daemon off; master_process off; pid " << folder << "/pid; error_log " << folder << "/error.log;\n"
        << "events {}\nhttp { access_log off; client_max_body_size 10m;\n"
        << "client_body_temp_path " << folder << "; proxy_temp_path " << folder << "; fastcgi_temp_path "
        << folder << "; uwsgi_temp_path " << folder << "; scgi_temp_path " << folder << ";\n"
        << "server { listen 127.0.0.1:" << port_
        << " ssl; ssl_certificate nginx.pem; ssl_certificate_key nginx.key;\n"
        << "location / { proxy_pass http://127.0.0.1:" << behind
        << "; proxy_http_version 1.1; proxy_set_header Connection ''; proxy_buffering off; } } }\n";
    child_ = std::make_unique<Child>(Strings{nginx_program(), "-p", folder, "-c", folder + "/nginx.conf"});
    if (!wait_until([&] { return listens(port_); }, soon()))
      throw std::runtime_error("nginx: " + child_->stderr_text());
  }
  int port() const { return port_; }
  std::string authority() const { return directory_.path() / "ca.pem"; }
  std::string url(const std::string& host = "localhost") const {
    return "https://" + host + ":" + std::to_string(port_) + "/mcp";
  }

 private:
  TemporaryDirectory directory_;
  int port_;
  std::unique_ptr<Child> child_;
};

class BehindNginx : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(nginx_program())) << "there is no nginx; ./dev test fetches it";
  }
};

TEST_F(BehindNginx, everything_works_as_without_nginx) {
  const FakeDaemon daemon;
  const Nginx nginx(daemon.port());
  Client client(to(nginx.url(), {"--cacert", nginx.authority()}));
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "safely"}}), "safely");
  EXPECT_EQ(client.call_text("events", {{"text", "streamed"}}), "streamed");
  ASSERT_TRUE(wait_status(client, "own stream", "open"));
  const std::int64_t id = client.send_call("ask");
  client.answer(client.expect_request("roots/list"), {{"roots", json::array{}}});
  EXPECT_FALSE(is_error(client.await(id)));
  const std::string big(3'000'000, 'b');
  EXPECT_EQ(client.call_text("echo", {{"text", big}}), big);
}

TEST_F(BehindNginx, requests_wait_for_a_daemon_that_goes_away_and_returns) {
  FakeDaemon daemon;
  const Nginx nginx(daemon.port());
  Client client(to(nginx.url("127.0.0.1"), {"--cacert", nginx.authority()}));
  client.initialize();
  ASSERT_TRUE(wait_status(client, "own stream", "open"));
  daemon.kill();
  ASSERT_TRUE(wait_until([&] { return status_of(client, "connection").starts_with("away"); }, soon()));
  const std::int64_t id = client.send_call("echo", {{"text", "later"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1"));
  daemon.start();
  EXPECT_EQ(own_text(client.await(id)), "later");
}

TEST_F(BehindNginx, an_invalid_certificate_is_rejected_with_advice) {
  const FakeDaemon daemon;
  const Nginx nginx(daemon.port());
  Client client(to(nginx.url()));
  EXPECT_THAT(json::serialize(client.initialize()),
              AllOf(HasSubstr("certificate does not verify"), HasSubstr("--cacert")));
  EXPECT_EQ(daemon.journal().size(), 0u);
}

TEST_F(BehindNginx, insecure_trusts_any_certificate_and_warns) {
  const FakeDaemon daemon;
  const Nginx nginx(daemon.port());
  Client client(to(nginx.url(), {"--insecure"}));
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "blindly"}}), "blindly");
  EXPECT_TRUE(client.child().wait_stderr("--insecure", soon()));
}

TEST_F(BehindNginx, https_uses_the_proxy_named_in_the_environment) {
  const FakeDaemon daemon;
  const Nginx nginx(daemon.port());
  const FakeDaemon proxy({"--tunnel", std::to_string(nginx.port())});
  ClientOptions options = to(nginx.url("daemon.test"), {"--cacert", nginx.authority()});
  options.environment = {{"HTTPS_PROXY", "http://127.0.0.1:" + std::to_string(proxy.port())}};
  Client client(options);
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "through"}}), "through");
  EXPECT_GE(proxy.times("1 tunnel "), 1u);
}

TEST(HttpProxy, plain_http_also_uses_the_proxy_and_no_proxy_is_respected) {
  const FakeDaemon daemon;  // which is its own proxy
  ClientOptions options = to("http://daemon.test/mcp");
  options.environment = {{"http_proxy", "http://127.0.0.1:" + std::to_string(daemon.port())}};
  Client client(options);
  client.initialize();
  EXPECT_EQ(client.call_text("echo", {{"text", "through"}}), "through");
  EXPECT_GE(daemon.times("1 proxied /mcp"), 1u);
  options.environment.emplace_back("no_proxy", "daemon.test");
  Client direct(options);
  EXPECT_THAT(json::serialize(direct.initialize()), HasSubstr("can't be resolved"));
}

}  // namespace
}  // namespace harness
