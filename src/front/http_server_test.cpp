#include "front/http_server.h"

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

TEST_F(HttpServerTest, a_stream_arrives_piece_by_piece_and_the_connection_goes_on_after_it) {
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

}  // namespace
}  // namespace mcpivot
