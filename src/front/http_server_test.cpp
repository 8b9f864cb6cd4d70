#include "front/http_server.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "front/http_server_fixture.h"

namespace mcpivot {
namespace {

TEST_F(HttpServerTest, a_request_reaches_the_handler_with_its_body_and_is_answered) {
  start();
  answer_all("hello");
  RawClient client(*this);
  const Heard heard = client.ask(post("question", "X-Thing:  a value \r\n"));
  EXPECT_EQ(heard.status, 200);
  EXPECT_TRUE(heard.head.starts_with("HTTP/1.1 200 OK\r\n")) << heard.head;
  EXPECT_EQ(heard.header("Content-Type"), "text/plain");
  EXPECT_TRUE(heard.header("Date").ends_with(" GMT")) << heard.head;
  EXPECT_EQ(heard.header("Connection"), "");
  EXPECT_EQ(heard.body, "hello");
  ASSERT_EQ(handler.requests.size(), 1U);
  const auto& request = handler.requests[0];
  EXPECT_EQ(request.ask.method, "POST");
  EXPECT_EQ(request.ask.target, "/mcp");
  EXPECT_EQ(request.ask.peer, "127.0.0.1");
  EXPECT_FALSE(request.ask.secure);
  EXPECT_EQ(request.ask.local_port, port);
  EXPECT_EQ(request.ask.header("x-thing"), "a value");
  EXPECT_EQ(request.body, "question");
}

TEST_F(HttpServerTest, a_connection_carries_one_request_after_another) {
  start();
  answer_all();
  RawClient client(*this);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.ask(i % 2 ? get() : post("x")).body, "hello");
  EXPECT_EQ(handler.requests.size(), 20U);
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(HttpServerTest, a_stream_arrives_piece_by_piece_and_the_connection_stays_usable) {
  start();
  RawClient client(*this);
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const ReplyId reply = handler.requests[0].reply;
  server->begin_stream(reply, 200, "Content-Type: text/event-stream\r\n");
  ASSERT_TRUE(client.hears("text/event-stream"));
  server->write(reply, "data: one\n\n");
  ASSERT_TRUE(client.hears("b\r\ndata: one\n\n\r\n"));
  server->write(reply, "");
  server->write(reply, "data: two\n\n");
  server->end(reply);
  const Heard heard = client.answer();
  EXPECT_TRUE(heard.whole);
  EXPECT_EQ(heard.body, "data: one\n\ndata: two\n\n");
  answer_all();
  EXPECT_EQ(client.ask(get()).body, "hello");
  EXPECT_TRUE(handler.gone.empty());
}

TEST_F(HttpServerTest, a_request_stays_readable_after_it_was_answered) {
  start();
  answer_all();
  RawClient client(*this);
  client.say(get() + "PUT /other HTTP/1.1\r\nHost: b\r\n\r\n");
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(handler.after, "GET /mcp localhost;PUT /other b;");
}

TEST_F(HttpServerTest, pipelined_requests_are_answered_in_their_order_one_at_a_time) {
  start();
  RawClient client(*this);
  client.say(post("one") + post("two") + post("three"));
  for (const char* body : {"one", "two", "three"}) {
    ASSERT_TRUE(until([&] { return !handler.requests.empty() && handler.requests.back().body == body; }));
    settle();
    EXPECT_EQ(handler.requests.back().body, body) << "the next one waits until this one is answered";
    server->respond(handler.requests.back().reply, {.body = "answer to " + handler.requests.back().body});
  }
  for (const char* body : {"one", "two", "three"})
    EXPECT_EQ(client.answer().body, std::string("answer to ") + body);
}

TEST_F(HttpServerTest, thousands_of_pipelined_requests_are_answered_in_order) {
  start();
  handler.then = [&](const ScriptedHandler::Request& request) {
    server->respond(request.reply, {.body = std::string(request.ask.target)});
  };
  RawClient client(*this);
  constexpr int count = 5000;
  std::string all;
  for (int i = 0; i < count; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  client.say(all);
  for (int i = 0; i < count; ++i) ASSERT_EQ(client.answer().body, "/" + std::to_string(i));
}

TEST_F(HttpServerTest, little_is_read_ahead_while_a_response_is_pending) {
  start({.pipelined_bytes = 1000});
  RawClient client(*this);
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  // Much more than the sockets' buffers hold.
  const std::string much(1024 * 1024, 'x');
  std::size_t said = 0;
  for (int quiet = 0; quiet < 20;) {
    const ssize_t count = ::send(client.descriptor(), much.data(), much.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    quiet = count > 0 ? 0 : quiet + 1;
    if (count > 0) said += static_cast<std::size_t>(count);
    settle();
    ASSERT_LT(said, 64 * much.size()) << "the server reads on";
  }
  EXPECT_TRUE(handler.gone.empty());
  server->respond(handler.requests[0].reply, {.body = "first"});
  EXPECT_EQ(client.answer().body, "first");
  EXPECT_EQ(client.answer().status, 431) << "what followed it isn't read as a request";
}

TEST_F(HttpServerTest, a_disconnect_is_reported_once_and_late_replies_are_ignored) {
  start();
  RawClient client(*this);
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const ReplyId reply = handler.requests[0].reply;
  client.close();
  ASSERT_TRUE(until([&] { return !handler.gone.empty(); }));
  EXPECT_EQ(handler.gone, std::vector{reply});
  server->respond(reply, {.body = "too late"});
  server->begin_stream(reply, 200, "");
  server->write(reply, "x");
  server->end(reply);
  server->abort(reply);
  EXPECT_FALSE(server->full(reply));
  settle();
  EXPECT_EQ(handler.gone.size(), 1U);
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(HttpServerTest, a_client_that_closes_its_sending_side_is_gone_even_mid_stream) {
  start();
  for (const bool streaming : {false, true}) {
    RawClient client(*this);
    client.say(post("x"));
    const std::size_t before = handler.gone.size();
    ASSERT_TRUE(until([&] { return !handler.requests.empty(); }));
    const ReplyId reply = handler.requests.back().reply;
    if (streaming) {
      server->begin_stream(reply, 200, "");
      server->write(reply, "piece");
      ASSERT_TRUE(client.hears("piece"));
    }
    client.shut();
    ASSERT_TRUE(until([&] { return handler.gone.size() > before; }));
    EXPECT_EQ(handler.gone.back(), reply);
    EXPECT_TRUE(client.hears_the_end());
    handler.requests.clear();
  }
}

TEST_F(HttpServerTest, a_client_that_closes_its_sending_side_still_gets_an_immediate_response) {
  start();
  const std::string large(5'000'000, 'x');
  answer_all(large);
  RawClient client(*this);
  client.say(get());
  client.shut();
  EXPECT_EQ(client.answer().body, large);
  EXPECT_TRUE(client.hears_the_end());
  settle();
  EXPECT_TRUE(handler.gone.empty());
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerTest, a_client_that_disconnects_mid_request_is_not_reported) {
  start();
  RawClient head(*this);
  head.say("GET / HT");
  RawClient body(*this);
  body.say(post("whole").substr(0, 60));
  settle();
  EXPECT_EQ(server->connections(), 2U);
  head.close();
  body.close();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  EXPECT_TRUE(handler.requests.empty());
  EXPECT_TRUE(handler.gone.empty());
}

TEST_F(HttpServerTest, the_judge_sees_only_the_head_and_may_reject_it) {
  start();
  answer_all();
  handler.on_judge = [](const HttpAsk& ask) -> std::optional<HttpAnswer> {
    if (ask.header("authorization") == "yes") return std::nullopt;
    return HttpAnswer{.status = 401, .headers = "WWW-Authenticate: Bearer\r\n", .body = "no"};
  };
  RawClient client(*this);
  EXPECT_EQ(client.ask(get()).status, 401);
  EXPECT_EQ(client.ask(get("Authorization: yes\r\n")).status, 200)
      << "there was no body, so the connection goes on";
  // Its body never comes, and the server doesn't wait for it.
  const Heard refused = client.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(refused.header("Connection"), "close");
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_EQ(handler.requests.size(), 1U);
}

TEST_F(HttpServerTest, a_rejection_reaches_a_client_that_sends_its_whole_body_first) {
  start();
  handler.on_judge = [](const HttpAsk&) { return plain_answer(403, "no"); };
  RawClient client(*this);
  client.say(post(std::string(4'000'000, 'x')));
  EXPECT_FALSE(client.unheard);
  EXPECT_EQ(client.answer().status, 403);
  EXPECT_FALSE(client.reset);
  client.close();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerTest, an_accepted_request_can_still_be_rejected_before_its_body_arrives) {
  start();
  ReplyId judged = ReplyId::none;
  handler.on_judge_of = [&](ReplyId reply) { judged = reply; };
  RawClient client(*this);
  client.say("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(until([&] { return handler.judged == 1; }));
  EXPECT_TRUE(server->knows(judged));
  server->respond(judged, plain_answer(403, "no"));
  EXPECT_FALSE(server->knows(judged));
  client.say("67890");
  const Heard refused = client.answer();
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.header("Connection"), "close");
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_TRUE(handler.requests.empty());
  EXPECT_TRUE(handler.gone.empty());
}

TEST_F(HttpServerTest, an_accepted_request_that_is_never_completed_is_reported_as_gone) {
  start({.body_stall = std::chrono::milliseconds(100)});
  ReplyId judged = ReplyId::none;
  handler.on_judge_of = [&](ReplyId reply) { judged = reply; };
  const std::string head = "POST /mcp HTTP/1.1\r\nHost: a\r\n";
  const auto is_gone = [&] {
    return until([&] { return !handler.gone.empty(); }) && handler.gone == std::vector{judged} &&
           !server->knows(judged);
  };
  {
    RawClient leaves(*this);
    leaves.say(head + "Content-Length: 10\r\n\r\n12345");
    ASSERT_TRUE(until([&] { return handler.judged == 1; }));
    leaves.close();
    EXPECT_TRUE(is_gone());
  }
  handler.gone.clear();
  RawClient stalls(*this);
  stalls.say(head + "Content-Length: 10\r\n\r\n12345");
  EXPECT_EQ(stalls.answer().status, 408);
  EXPECT_TRUE(is_gone());
  handler.gone.clear();
  RawClient babbles(*this);
  babbles.say(head + "Transfer-Encoding: chunked\r\n\r\nhello\r\n");
  EXPECT_EQ(babbles.answer().status, 400);
  EXPECT_TRUE(is_gone());
  EXPECT_TRUE(handler.requests.empty());
}

TEST_F(HttpServerTest, a_client_gets_100_continue_if_the_judge_accepts_its_request) {
  start();
  answer_all();
  RawClient client(*this);
  client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 100);
  EXPECT_EQ(client.ask("12345").status, 200);
  EXPECT_EQ(handler.requests.at(0).body, "12345");
  handler.on_judge = [](const HttpAsk&) { return plain_answer(403, "no"); };
  client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 403);
  EXPECT_TRUE(client.hears_the_end());
  RawClient other(*this);
  other.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: wonders\r\n\r\n");
  EXPECT_EQ(other.answer().status, 417);
  EXPECT_TRUE(other.hears_the_end());
}

TEST_F(HttpServerTest, a_bad_request_is_answered_with_an_explanation_and_the_connection_closed) {
  start();
  answer_all();
  RawClient client(*this);
  client.say(get() + "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + get());
  EXPECT_EQ(client.answer().status, 200) << "what came before it was all right";
  const Heard refused = client.answer();
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(refused.head.starts_with("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_EQ(refused.header("Connection"), "close");
  EXPECT_EQ(refused.body, "The request has more than one Host header.\n");
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_EQ(client.heard, "");
  EXPECT_EQ(handler.requests.size(), 1U);
}

TEST_F(HttpServerTest, a_head_request_gets_only_the_head_of_the_response) {
  start();
  answer_all("hello");
  RawClient client(*this);
  const Heard whole = client.ask("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(whole.header("Content-Length"), "5");
  EXPECT_EQ(client.ask(get()).body, "hello");
  handler.then = [&](const ScriptedHandler::Request& request) {
    server->begin_stream(request.reply, 200, "X: y\r\n");
    server->write(request.reply, "piece");
    server->end(request.reply);
  };
  EXPECT_EQ(client.ask("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(client.ask(get()).body, "piece");
}

TEST_F(HttpServerTest, only_a_response_that_may_have_a_body_has_a_length) {
  start();
  int status = 204;
  handler.then = [&](const ScriptedHandler::Request& request) {
    server->respond(request.reply, {.status = status});
  };
  RawClient client(*this);
  const Heard none = client.ask(get());
  EXPECT_TRUE(none.head.starts_with("HTTP/1.1 204 No Content\r\n"));
  EXPECT_EQ(none.header("Content-Length"), "");
  status = 202;
  const Heard accepted = client.ask(get());
  EXPECT_TRUE(accepted.head.starts_with("HTTP/1.1 202 Accepted\r\n"));
  EXPECT_EQ(accepted.header("Content-Length"), "0");
  status = 299;
  EXPECT_TRUE(client.ask(get()).head.starts_with("HTTP/1.1 299 \r\n"));
}

TEST_F(HttpServerTest, an_http_1_0_stream_is_not_chunked_and_ends_with_the_connection) {
  start();
  answer_all("hello");
  RawClient closing(*this);
  const Heard heard = closing.ask("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(heard.body, "hello");
  EXPECT_EQ(heard.header("Connection"), "close");
  EXPECT_TRUE(closing.hears_the_end());
  RawClient keeping(*this);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(keeping.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").header("Connection"),
              "keep-alive");
  handler.then = [&](const ScriptedHandler::Request& request) {
    server->begin_stream(request.reply, 200, "");
    server->write(request.reply, "one,");
    server->write(request.reply, "two");
    server->end(request.reply);
  };
  const Heard streamed = keeping.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(streamed.body, "one,two");
  EXPECT_EQ(streamed.header("Transfer-Encoding"), "");
  EXPECT_EQ(streamed.header("Connection"), "close");
}

TEST_F(HttpServerTest, a_connection_is_closed_after_a_response_if_either_side_wants_it) {
  start();
  answer_all();
  RawClient client(*this);
  EXPECT_EQ(client.ask(get("Connection: close\r\n")).header("Connection"), "close");
  EXPECT_TRUE(client.hears_the_end());
  handler.then = [&](const ScriptedHandler::Request& request) {
    server->respond(request.reply, {.close = true});
  };
  RawClient other(*this);
  other.say(get() + get());
  EXPECT_EQ(other.answer().header("Connection"), "close");
  EXPECT_TRUE(other.hears_the_end());
  EXPECT_EQ(other.heard, "");
  EXPECT_EQ(handler.requests.size(), 2U) << "nothing behind it is looked at";
}

TEST_F(HttpServerTest, large_bodies_and_responses_arrive_in_one_piece) {
  start();
  handler.then = [&](const ScriptedHandler::Request& request) {
    server->respond(request.reply, {.body = request.body});
  };
  std::string large(5'000'000, ' ');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i * i % 26);
  RawClient client(*this);
  EXPECT_EQ(client.ask(post(large)).body, large);
  std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0, size = 1; at < large.size(); at += size, size = size * 3 % 99'991) {
    char head[20];
    const std::string piece = large.substr(at, size);
    std::snprintf(head, sizeof(head), "%zx\r\n", piece.size());
    chunked += head + piece + "\r\n";
  }
  EXPECT_EQ(client.ask(chunked + "0\r\n\r\n").body, large);
  EXPECT_EQ(client.ask(get()).status, 200);
}

TEST_F(HttpServerTest, everything_written_in_one_turn_leaves_in_one_write) {
  // A datagram of a SOCK_SEQPACKET socket is one write.
  server.emplace(loop, corks, handler);
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  server->adopt(ends[0], "here");
  char room[100'000];
  const auto next = [&] {
    ssize_t count = -1;
    until([&] { return (count = ::recv(ends[1], room, sizeof(room), MSG_DONTWAIT)) >= 0; });
    return std::string(room, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  };
  const std::string question = get();
  ASSERT_GT(::send(ends[1], question.data(), question.size(), 0), 0);
  ASSERT_TRUE(until([&] { return !handler.requests.empty(); }));
  const ReplyId reply = handler.requests[0].reply;
  EXPECT_EQ(handler.requests[0].ask.peer, "here");
  const std::string large(50'000, 'x');
  server->begin_stream(reply, 200, "");
  server->write(reply, "one");
  server->write(reply, large);
  server->write(reply, "two");
  server->end(reply);
  std::string heard = next();
  EXPECT_TRUE(heard.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(heard.ends_with("\r\n\r\n3\r\none\r\nc350\r\n" + large + "\r\n3\r\ntwo\r\n0\r\n\r\n"));
  {
    // When the cork is pulled.
    ASSERT_GT(::send(ends[1], question.data(), question.size(), 0), 0);
    ASSERT_TRUE(until([&] { return handler.requests.size() == 2; }));
    const Cork cork(corks);
    server->respond(handler.requests[1].reply, {.body = "corked"});
    settle();
    EXPECT_LT(::recv(ends[1], room, sizeof(room), MSG_DONTWAIT), 0);
  }
  const ssize_t count = ::recv(ends[1], room, sizeof(room), MSG_DONTWAIT);
  ASSERT_GT(count, 0);
  EXPECT_TRUE(std::string(room, static_cast<std::size_t>(count)).ends_with("\r\n\r\ncorked"));
  ::close(ends[1]);
}

TEST_F(HttpServerTest, an_aborted_response_looks_broken_and_is_not_reported) {
  start();
  RawClient client(*this);
  client.say("GET / HTTP/1.0\r\n\r\n");  // HTTP/1.0, where closing the connection would end the response
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  server->begin_stream(handler.requests[0].reply, 200, "");
  server->write(handler.requests[0].reply, "half of it");
  ASSERT_TRUE(client.hears("half of it"));
  server->abort(handler.requests[0].reply);
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_TRUE(client.reset);
  EXPECT_TRUE(handler.gone.empty());
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(HttpServerTest, when_it_stops_accepting_only_busy_connections_stay_until_answered) {
  start();
  RawClient idle(*this);
  RawClient fresh(*this);
  RawClient waiting(*this);
  RawClient streaming(*this);
  RawClient halfway(*this);
  idle.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  server->respond(handler.requests[0].reply, {});
  EXPECT_EQ(idle.answer().status, 200);
  waiting.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 2; }));
  streaming.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 3; }));
  server->begin_stream(handler.requests[2].reply, 200, "");
  halfway.say(get().substr(0, 20));
  settle();
  EXPECT_EQ(server->connections(), 5U);

  server->stop_accepting();
  EXPECT_TRUE(idle.hears_the_end());
  EXPECT_TRUE(fresh.hears_the_end());
  EXPECT_EQ(server->connections(), 3U);
  server->respond(handler.requests[1].reply, {});
  EXPECT_EQ(waiting.answer().header("Connection"), "close");
  EXPECT_TRUE(waiting.hears_the_end());
  server->write(handler.requests[2].reply, "goes on");
  server->end(handler.requests[2].reply);
  EXPECT_EQ(streaming.answer().body, "goes on");
  EXPECT_TRUE(streaming.hears_the_end());
  halfway.say(get().substr(20));
  ASSERT_TRUE(until([&] { return handler.requests.size() == 4; }));
  server->respond(handler.requests[3].reply, {});
  EXPECT_EQ(halfway.answer().header("Connection"), "close");

  const int late = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(late, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  ::close(late);
}

TEST_F(HttpServerTest, calls_no_handler_after_it_is_closed) {
  start();
  RawClient one(*this);
  RawClient two(*this);
  one.say(get());
  two.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 2; }));
  one.close();
  server->begin_stream(handler.requests[1].reply, 200, "");
  server->close();
  EXPECT_TRUE(two.hears_the_end());
  settle();
  EXPECT_TRUE(handler.gone.empty());
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_FALSE(server->listen(*parse_listen_address("127.0.0.1:0")));
}

TEST_F(HttpServerTest, may_be_destroyed_by_its_handler) {
  start();
  handler.then = [&](const ScriptedHandler::Request&) { server.reset(); };
  RawClient client(*this);
  client.say(get() + get());
  EXPECT_TRUE(client.hears_the_end());
  settle();
  EXPECT_EQ(handler.requests.size(), 1U);
  start();
  handler.on_judge = [&](const HttpAsk&) -> std::optional<HttpAnswer> {
    server.reset();
    return std::nullopt;
  };
  RawClient other(*this);
  other.say(post("x"));
  EXPECT_TRUE(other.hears_the_end());
  settle();
  EXPECT_EQ(handler.requests.size(), 1U);
}

TEST_F(HttpServerTest, an_exception_in_its_handler_is_a_500_and_the_others_are_served) {
  start();
  handler.then = [&](const ScriptedHandler::Request& request) {
    if (request.body == "bad") throw std::runtime_error("oh");
    server->respond(request.reply, {.body = "fine"});
  };
  RawClient good(*this);
  RawClient bad(*this);
  EXPECT_EQ(bad.ask(post("bad")).status, 500);
  EXPECT_TRUE(bad.hears_the_end());
  EXPECT_EQ(good.ask(post("good")).body, "fine");
  handler.on_judge = [](const HttpAsk& ask) -> std::optional<HttpAnswer> {
    if (ask.target == "/bad") throw std::runtime_error("oh dear");
    return std::nullopt;
  };
  EXPECT_EQ(good.ask("GET /bad HTTP/1.1\r\nHost: a\r\n\r\n").status, 500);
  RawClient other(*this);
  EXPECT_EQ(other.ask(post("good")).body, "fine");
}

}  // namespace
}  // namespace mcpivot
