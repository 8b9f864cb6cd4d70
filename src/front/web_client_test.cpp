#include "front/web_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "front/http_server_fixture.h"
#include "rpc/answers.h"
#include "sim_backend.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A client that connects over HTTP to a visitor's desk and replaces the visitor. The servers live in
// virtual time, the socket is real.
class WebClientTest : public HttpServerTest, private WebClient::Owner {
 public:
  void begin(Era era, simulation::Birth birth = simulation::Birth::good) {
    start();
    visitor.emplace("alpha=process");
    visitor->world().scripts().of("alpha").births.push_back(birth);
    visitor->clients().remove(visitor->desk().client());
    WebClient::Owner& owner = *this;
    client.emplace(*server, visitor->world().timers(), visitor->clients(), events, visitor->desk(), era,
                   owner);
    handler.then = [this](const ScriptedHandler::Request& request) {
      if (request.ask.method == "GET") return client->listen(request.reply, {}, {});
      client->post(request.reply, request.body, {});
    };
    visitor->desk().start();
  }
  // Sends it and lets this much time pass for the servers, in small steps.
  void send(RawClient& wire, std::string_view body, std::chrono::milliseconds time) {
    const std::size_t before = handler.requests.size();
    wire.say(post(body));
    ASSERT_TRUE(until([&] { return handler.requests.size() > before; }));
    for (; time > 0ms; time -= 50ms) {
      visitor->pass(50ms);
      settle();
    }
  }

  EventRoom events;
  std::optional<simulation::Visitor> visitor;
  std::optional<WebClient> client;

 protected:
  void TearDown() override { client.reset(); }

 private:
  std::optional<std::string> on_opened(WebClient& /*client*/) override { return "Mcp-Session-Id: s-1\r\n"; }
  void on_done(ReplyId /*reply*/) override {}
};

constexpr std::string_view hello =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}})";

TEST_F(WebClientTest, a_slow_servers_handshake_still_has_the_session_id) {
  begin(Era::legacy, simulation::Birth::late);
  RawClient wire(*this);
  send(wire, hello, 30s);
  const Heard answer = wire.answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Mcp-Session-Id"), "s-1");
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  EXPECT_THAT(answer.body, HasSubstr(R"("protocolVersion":"2025-11-25")"));
}

TEST_F(WebClientTest, a_slow_response_comes_in_a_stream_with_a_reconnection_time) {
  begin(Era::legacy);
  RawClient wire(*this);
  send(wire, hello, 1s);
  EXPECT_EQ(wire.answer().status, 200);
  send(wire, R"({"jsonrpc":"2.0","method":"notifications/initialized"})", 100ms);
  EXPECT_EQ(wire.answer().status, 202);
  send(
      wire,
      R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work","arguments":{"after":3000}}})",
      5s);
  const Heard answer = wire.answer();
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
  EXPECT_THAT(answer.body,
              testing::MatchesRegex("id: [^\n]+\nretry: [0-9]+\ndata: \n\nid: [^\n]+\ndata: .*\n\n"));
  EXPECT_THAT(answer.body, HasSubstr(R"("id":2)"));
}

TEST_F(WebClientTest, a_question_waits_for_a_broken_stream_but_not_for_an_abandoned_one) {
  begin(Era::legacy);
  RawClient wire(*this);
  send(wire, hello, 1s);
  EXPECT_EQ(wire.answer().status, 200);
  send(wire, R"({"jsonrpc":"2.0","method":"notifications/initialized"})", 100ms);
  EXPECT_EQ(wire.answer().status, 202);
  RawClient stream(*this);
  stream.say(get());
  ASSERT_TRUE(stream.hears("retry:"));
  send(
      wire,
      R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work","arguments":{"after":90000}}})",
      2s);
  ASSERT_TRUE(wire.hears("retry:"));
  wire.close();
  ASSERT_TRUE(until([&] { return !handler.gone.empty(); }));
  client->gone(handler.gone.front());

  const auto ask = [&] {
    visitor->world().each_life("alpha", [](simulation::SimBackend& life) { life.blurt("ask"); });
    visitor->pass(100ms);
    settle();
    stream.listen();
  };
  ask();
  EXPECT_THAT(stream.heard, testing::Not(HasSubstr("roots/list")));
  visitor->pass(10s);
  ask();
  EXPECT_TRUE(stream.hears("roots/list"));
}

TEST_F(WebClientTest, a_modern_response_that_takes_seconds_still_has_its_status) {
  begin(Era::modern, simulation::Birth::late);
  RawClient wire(*this);
  send(
      wire,
      R"({"jsonrpc":"2.0","id":2,"method":"nonsense","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":)"
      R"("2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})",
      9s);
  const Heard answer = wire.answer();
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("-32601"));
}

TEST_F(WebClientTest, a_line_break_within_a_string_is_invalid_in_a_batch_too) {
  begin(Era::legacy);
  RawClient wire(*this);
  send(
      wire,
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}})",
      1s);
  EXPECT_EQ(wire.answer().status, 200);
  send(wire, "[{\"jsonrpc\":\"2.0\",\n\"id\":2,\"method\":\"pi\nng\"}]", 1s);
  EXPECT_THAT(wire.answer().body, HasSubstr("-32700"));
  send(wire, "[{\"jsonrpc\":\"2.0\",\n\"id\":2,\"method\":\"ping\"}]", 1s);
  EXPECT_THAT(wire.answer().body, HasSubstr(R"("id":2,"result":{})"));
}

// --- how many requests of one client may be in flight

TEST_F(WebClientTest, each_message_of_a_batch_counts_as_a_request_in_flight) {
  begin(Era::legacy);
  RawClient wire(*this);
  send(
      wire,
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}})",
      1s);
  EXPECT_EQ(wire.answer().status, 200);
  std::string batch;
  for (int id = 2; id < 257; ++id)
    batch += fmt::format(
        R"({}{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"work","arguments":{{"after":500}}}}}})",
        id == 2 ? "[" : ",", id);
  send(wire, batch + "]", 100ms);
  EXPECT_FALSE(client->crowded()) << "there may be one more";
  RawClient other(*this);
  send(
      other,
      R"({"jsonrpc":"2.0","id":300,"method":"tools/call","params":{"name":"work","arguments":{"after":900}}})",
      100ms);
  EXPECT_TRUE(client->crowded());
  visitor->pass(2s);
  EXPECT_FALSE(client->crowded());
}

}  // namespace
}  // namespace mcpivot
