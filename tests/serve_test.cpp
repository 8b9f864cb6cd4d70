// Clients of `mcpivot serve`: their sessions and streams, and that they are kept apart.
#include <csignal>
#include <deque>

#include "serves.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const Headers of_json = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

const std::string sleep_for_ever = R"("ms":)" + std::to_string(for_ever);

std::string call_text(const std::string& tool, const std::string& arguments, int id = 7) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" +
         tool + R"(","arguments":{)" + arguments + "}}}";
}

json::object state_of(WebClient& client) {
  return json::parse(own_text(client.call("state"))).as_object();
}

// Up to the first message of a stream, which is progress.
void wait_for_progress(Connection& call) {
  ASSERT_TRUE(call.read_head().is_stream());
  ASSERT_EQ(call.read_message()->at("method"), "notifications/progress");
}

TEST(Serve, two_clients_have_their_own_servers_and_see_nothing_of_each_other) {
  const Serve serve;
  WebClient first(serve);
  WebClient second(serve);
  for (WebClient* client : {&first, &second}) client->initialize();
  Connection first_hears = first.listen();
  Connection second_hears = second.listen();
  EXPECT_NE(own_text(first.call("pid")), own_text(second.call("pid")));
  EXPECT_THAT(serve.servers(), SizeIs(2));

  // Everything that can be sent, with the same ids and tokens.
  const auto use = [](WebClient& client, const std::string& canary) {
    client.next_id = 100;
    EXPECT_EQ(own_text(client.call("echo", {{"text", canary}})), canary);
    client.call("notify", {{"method", "notifications/custom"}, {"params", {{"text", canary}}}});
    client.call("log", {{"level", "error"}, {"text", canary}});
    client.call("stderr", {{"text", canary}});
    Connection asks = client.send_call(
        "ask", {{"method", "elicitation/create"}, {"id", "same"}, {"params", {{"message", canary}}}});
    EXPECT_TRUE(asks.read_head().is_stream());
    const auto question = asks.read_message();
    EXPECT_EQ(question->at("method"), "elicitation/create");
    EXPECT_EQ(client.answer(*question, {{"action", "accept"}, {"content", {{"text", canary}}}}).status, 202);
    EXPECT_THAT(own_text(*asks.read_message()), HasSubstr(canary));
    Connection sleeps = client.send_call("sleep", {{"ms", 20}, {"steps", 2}}, canary);
    client.await(sleeps);
    client.heard += asks.heard();
  };
  use(first, "canary-of-the-first");
  use(second, "canary-of-the-second");
  for (auto [client, stream] : {std::pair(&first, &first_hears), std::pair(&second, &second_hears)}) {
    client->call("seen");
    client->call("pivot_status");
    client->call("notify", {{"method", "notifications/marker"}});
    while (stream->read_message()->at("method") != "notifications/marker") {
    }
    client->heard += stream->heard();
  }
  EXPECT_THAT(first.heard, AllOf(HasSubstr("canary-of-the-first"), Not(HasSubstr("canary-of-the-second"))));
  EXPECT_THAT(second.heard, AllOf(HasSubstr("canary-of-the-second"), Not(HasSubstr("canary-of-the-first"))));
}

TEST(Serve, an_ended_session_no_longer_exists) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  const pid_t server = std::stoi(own_text(client.call("pid")));
  Connection hears = client.listen();
  EXPECT_EQ(client.end().status, 204);
  EXPECT_EQ(hears.read_message(), std::nullopt);
  EXPECT_TRUE(wait_gone({server}));
  EXPECT_EQ(client.notify("notifications/initialized").status, 404);
  EXPECT_EQ(client.end().status, 404);
}

TEST(Serve, an_initialize_without_an_id_starts_no_session) {
  const Serve serve;
  EXPECT_EQ(serve.post(R"({"jsonrpc":"2.0","method":"initialize","params":{}})").status, 400);
  EXPECT_EQ(serve.logged(" has come"), 0U);
}

TEST(Serve, a_slow_response_to_initialize_has_the_session_id) {
  const Serve serve({}, {"--delay", "initialize=1500"});
  WebClient client(serve);
  client.initialize();
  EXPECT_NE(client.session, "");
  EXPECT_EQ(own_text(client.call("echo", {{"text", "hello"}})), "hello");
}

TEST(Serve, a_sessions_stream_is_told_once_that_a_new_generation_has_other_tools) {
  Serve serve({}, {"--lives", "lives", "--life", "2+", "--tool", "extra"});
  WebClient client(serve);
  client.initialize();
  client.request("tools/list");
  Connection hears = client.listen();
  serve.child().signal(SIGHUP);
  const auto next_method = [&] {
    const auto message = hears.read_message();
    return message ? std::string(message->at("method").as_string()) : "nothing";
  };
  while (true) {
    const std::string method = next_method();
    ASSERT_NE(method, "nothing");
    if (method == "notifications/tools/list_changed") break;
  }
  EXPECT_THAT(json::serialize(client.request("tools/list")), HasSubstr("extra"));
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("+extra"));
  client.call("notify", {{"method", "notifications/marker"}});
  while (true) {
    const std::string method = next_method();
    ASSERT_NE(method, "nothing");
    ASSERT_NE(method, "notifications/tools/list_changed") << "again";
    if (method == "notifications/marker") break;
  }
  // Nor does it arrive again on the next stream.
  hears.close();
  Connection again = client.listen(hears.last_id());
  client.call("notify", {{"method", "notifications/marker"}});
  EXPECT_EQ(again.read_message()->at("method"), "notifications/marker");
}

TEST(Serve, clients_may_not_restart_servers_or_read_their_output_by_default) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  const std::string tools = json::serialize(client.request("tools/list"));
  for (const char* tool : {"pivot_restart", "pivot_logs"}) {
    EXPECT_THAT(tools, Not(HasSubstr(tool)));
    EXPECT_TRUE(is_error(client.call(tool))) << tool;
  }
}

TEST(Serve, messages_sent_while_no_stream_was_open_reach_the_next_one) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  client.call("notify", {{"method", "notifications/marker"}});
  Connection hears = client.listen();
  EXPECT_EQ(hears.read_message()->at("method"), "notifications/marker");
}

TEST(Serve, a_disconnected_legacy_client_can_resume_its_call) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  Connection call = client.send_call("sleep", {{"ms", 1000}, {"steps", 4}}, "mine");
  wait_for_progress(call);
  const std::string seen = call.last_id();
  call.close();

  Connection resumed = client.listen(seen);
  for (int step = 2; step <= 4; ++step) {
    const auto progress = resumed.read_message();
    ASSERT_TRUE(progress);
    EXPECT_EQ(progress->at("params").at("progress"), step);
  }
  EXPECT_EQ(own_text(*resumed.read_message()), "slept 1000 ms");
  EXPECT_EQ(resumed.read_message(), std::nullopt);  // the stream of a call ends with its answer
  EXPECT_THAT(state_of(client).at("cancelled").as_array(), SizeIs(0));
  // It can be requested again.
  Connection once_more = client.listen(seen);
  while (auto message = once_more.read_message())
    if (!message->contains("method")) {
      EXPECT_EQ(own_text(*message), "slept 1000 ms");
    }
}

TEST(Serve, a_response_that_arrived_while_the_client_was_away_is_kept) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  Connection call = client.send_call("ask", {{"method", "roots/list"}});
  ASSERT_TRUE(call.read_head().is_stream());
  const auto question = call.read_message();
  const std::string seen = call.last_id();
  call.close();
  client.answer(*question, {{"roots", json::array()}});
  client.call("echo");
  Connection resumed = client.listen(seen);
  EXPECT_THAT(own_text(*resumed.read_message()), HasSubstr("roots"));
}

TEST(Serve, a_question_of_a_call_whose_stream_broke_waits_for_that_stream) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  Connection hears = client.listen();
  const json::object round = {{"inputRequests", {{"r", {{"method", "roots/list"}}}}}};
  Connection call = client.send_call("require", {{"rounds", {round, round}}});
  ASSERT_TRUE(call.read_head().is_stream());
  const auto first = call.read_message();
  ASSERT_EQ(first->at("method"), "roots/list");
  const std::string seen = call.last_id();
  call.close();
  client.request("ping");  // by then it has seen that the connection is gone
  client.answer(*first, {{"roots", json::array()}});

  Connection resumed = client.listen(seen);
  const auto second = resumed.read_message();
  ASSERT_EQ(second->at("method"), "roots/list");
  client.answer(*second, {{"roots", json::array()}});
  EXPECT_THAT(own_text(*resumed.read_message()), HasSubstr("roots"));
  client.call("notify", {{"method", "notifications/marker"}});
  EXPECT_EQ(hears.read_message()->at("method"), "notifications/marker");  // and nothing else
}

TEST(Serve, a_question_goes_to_the_stream_of_its_call_if_no_other_stream_is_open) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  Connection waits = client.send_call("sleep", {{"ms", for_ever}, {"steps", 60'000}}, "mine");
  wait_for_progress(waits);
  Connection asks = client.send_call("ask", {{"method", "roots/list"}});
  ASSERT_TRUE(asks.read_head().is_stream());
  const auto question = asks.read_message();
  EXPECT_EQ(question->at("method"), "roots/list");
  client.answer(*question, {{"roots", json::array()}});
  EXPECT_THAT(own_text(*asks.read_message()), HasSubstr("roots"));
}

TEST(Serve, a_modern_client_that_closes_its_connection_cancels_only_that_call) {
  const Serve serve({}, {"--era", "modern"});
  WebClient client(serve, Era::modern);
  WebClient other(serve,
                  Era::modern);  // without a token, both are one client to mcpivot, but their ids are not
  Connection call = client.send_call("sleep", {{"ms", for_ever}, {"steps", 60'000}}, "mine");
  Connection others = other.send_call("sleep", {{"ms", 2000}, {"steps", 2}}, "mine");
  wait_for_progress(call);
  call.close();
  EXPECT_TRUE(wait_until([&] { return state_of(client).at("cancelled").as_array().size() == 1; }, soon()));
  EXPECT_EQ(own_text(other.await(others)), "slept 2000 ms");
  EXPECT_THAT(state_of(client).at("cancelled").as_array(), SizeIs(1));
}

TEST(Serve, a_cancelled_notification_cancels_a_legacy_call_and_ends_its_stream) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  const std::int64_t id = client.next_id;
  Connection call = client.send_call("sleep", {{"ms", for_ever}, {"steps", 60'000}}, "mine");
  wait_for_progress(call);
  EXPECT_EQ(client.notify("notifications/cancelled", {{"requestId", id}}).status, 202);
  EXPECT_TRUE(wait_until([&] { return state_of(client).at("cancelled").as_array().size() == 1; }, soon()));
  while (const auto message = call.read_message()) EXPECT_TRUE(message->contains("method"));
}

TEST(Serve, a_large_response_to_a_slow_reader_does_not_block_the_session) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  Connection call = client.send_call("ask", {{"method", "roots/list"}});
  ASSERT_TRUE(call.read_head().is_stream());
  const auto question = call.read_message();
  // More than the sockets hold, and nobody reads it.
  const std::string large(8'000'000, 'x');
  EXPECT_EQ(client.answer(*question, {{"roots", json::array()}, {"_meta", {{"large", large}}}}).status, 202);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(own_text(client.call("echo", {{"text", "hello"}})), "hello");
  EXPECT_THAT(own_text(*call.read_message(in_a_while())), SizeIs(testing::Gt(large.size())));
  EXPECT_EQ(own_text(client.call("echo", {{"text", "hello"}})), "hello");
}

TEST(Serve, servers_get_the_configured_environment_but_not_mcpivots) {
  const Serve serve({"--env", "GIVEN=yes"});
  WebClient client(serve);
  client.initialize();
  EXPECT_EQ(own_text(client.call("env", {{"name", "GIVEN"}})), "yes");
  EXPECT_FALSE(is_error(client.call("env", {{"name", "PATH"}})));
  EXPECT_TRUE(is_error(client.call("env", {{"name", "XDG_STATE_HOME"}})));
}

TEST(Serve, messages_waiting_for_a_server_that_does_not_read_are_bounded) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  const pid_t server = std::stoi(own_text(client.call("pid")));
  const std::string padding(20'000'000, 'x');
  const std::string call = call_text("echo", R"("text":"hi","x":")" + padding + R"(")");
  const std::string note =
      R"({"jsonrpc":"2.0","method":"notifications/none","params":{"x":")" + padding + R"("}})";
  ::kill(server, SIGSTOP);
  int taken = 0;
  while (taken < 10 && serve.post(note, client.headers()).status == 202) ++taken;
  EXPECT_THAT(taken, testing::AllOf(testing::Ge(2), testing::Le(4)));
  const Reply refused = serve.post(call, client.headers());
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.header("Retry-After"), "");
  ::kill(server, SIGCONT);
  EXPECT_TRUE(wait_until(
      [&] {
        return serve.post(R"({"jsonrpc":"2.0","method":"notifications/none"})", client.headers()).status ==
               202;
      },
      in(std::chrono::seconds(60))));
}

TEST(Serve, a_clients_requests_in_flight_are_bounded_in_bytes) {
  const Serve serve;
  WebClient client(serve);
  client.initialize();
  const std::string call =
      call_text("sleep", sleep_for_ever + R"(,"x":")" + std::string(30'000'000, 'x') + R"(")");
  std::deque<Connection> calls;
  for (int i = 0; i < 4; ++i) {
    calls.emplace_back(serve.address());
    calls.back().send(request_text("POST", "/mcp", of_json + client.headers(), call));
  }
  EXPECT_TRUE(wait_until([&] { return serve.logged("tools/call from 127.0.0.1") == 4; }, soon()));
  EXPECT_EQ(serve.post(call, client.headers()).status, 503);
}

TEST(Serve, requests_in_batches_are_counted_one_by_one) {
  const Serve serve;
  WebClient client(serve);
  client.initialize("2025-03-26");
  std::string batch;
  for (int i = 0; i < 200; ++i) batch += (i == 0 ? "[" : ",") + call_text("sleep", sleep_for_ever, i + 10);
  batch += "]";
  Connection first(serve.address());
  first.send(request_text("POST", "/mcp", of_json + client.headers(), batch));
  EXPECT_TRUE(first.read_head().is_stream());
  EXPECT_EQ(serve.post(batch, client.headers()).status, 503);
  EXPECT_EQ(own_text(client.call("echo", {{"text", "hello"}})), "hello");
}

TEST(Serve, a_batch_gets_a_batch_in_the_one_protocol_version_that_has_them) {
  const Serve serve;
  const std::string batch =
      R"([{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/none"},)"
      R"({"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}])";
  WebClient client(serve);
  client.initialize("2025-03-26");
  const Reply reply = serve.post(batch, client.headers());
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(json::parse(reply.body).as_array(), SizeIs(2));
  EXPECT_EQ(serve.post(R"([{"jsonrpc":"2.0","method":"notifications/none"}])", client.headers()).status, 202);
  WebClient newer(serve);
  newer.initialize("2025-06-18");
  EXPECT_EQ(serve.post(batch, newer.headers()).status, 400);
}

}  // namespace
}  // namespace harness
