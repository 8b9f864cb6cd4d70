// Clients that ask too much, wait too long or don't read; and that they leave nothing behind.
#include <fcntl.h>
#include <sys/resource.h>

#include <filesystem>
#include <iterator>
#include <list>
#include <string>

#include "front/http_server_fixture.h"
#include "host/few_descriptors.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class HttpServerLimitsTest : public HttpServerTest {};

// Of this process.
std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(HttpServerLimitsTest, too_large_headers_are_a_431) {
  start({.header_bytes = 2000});
  RawClient client(*this);
  const Heard heard = client.ask(get("X: " + std::string(3000, 'x') + "\r\n"));
  EXPECT_EQ(heard.status, 431);
  EXPECT_TRUE(heard.head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_EQ(handler.judged, 0);
}

TEST_F(HttpServerLimitsTest, a_too_large_body_is_a_413_as_soon_as_its_size_is_known) {
  start({.body_bytes = 1000});
  answer_all();
  RawClient announced(*this);
  const Heard heard = announced.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(heard.status, 413);
  EXPECT_EQ(heard.header("Connection"), "close");
  EXPECT_TRUE(announced.hears_the_end());
  RawClient expecting(*this);
  expecting.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(expecting.answer().status, 413) << "not 100";
  RawClient chunked(*this);
  const std::string piece = "258\r\n" + std::string(600, 'x') + "\r\n";
  chunked.say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + piece);
  EXPECT_EQ(chunked.ask(piece).status, 413);
  EXPECT_TRUE(chunked.hears_the_end());
  EXPECT_TRUE(handler.requests.empty());
  EXPECT_EQ(handler.judged, 3) << "who isn't let in doesn't learn of the limit";
}

TEST_F(HttpServerLimitsTest, a_head_that_arrives_too_slowly_is_a_408) {
  start({.header_time = milliseconds(50)});
  RawClient client(*this);
  client.say("GET / HTTP/1.1\r\n");
  // Byte by byte, the head is never complete.
  const bool ended = until([&] {
    ::send(client.descriptor(), "X: y\r\n", 6, MSG_DONTWAIT | MSG_NOSIGNAL);
    client.listen();
    return !client.heard.empty();
  });
  EXPECT_TRUE(ended);
  const Heard heard = client.answer();
  EXPECT_EQ(heard.status, 408);
  EXPECT_TRUE(client.hears_the_end());
}

TEST_F(HttpServerLimitsTest, the_time_limit_of_a_further_request_starts_at_its_first_byte) {
  start({.header_time = milliseconds(50), .idle = seconds(100)});
  answer_all();
  RawClient client(*this);
  EXPECT_EQ(client.ask(get()).status, 200);
  client.say("G");
  EXPECT_EQ(client.answer().status, 408);
  EXPECT_TRUE(client.hears_the_end());
}

TEST_F(HttpServerLimitsTest, a_client_that_never_sends_anything_is_disconnected_without_a_response) {
  start({.header_time = milliseconds(30)});
  RawClient client(*this);
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_EQ(client.heard, "");
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerLimitsTest, an_idle_connection_is_closed_without_a_response) {
  start({.idle = milliseconds(30)});
  answer_all();
  RawClient client(*this);
  EXPECT_EQ(client.ask(get()).status, 200);
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_EQ(client.heard, "");
}

TEST_F(HttpServerLimitsTest, a_stalled_body_is_a_408_and_a_slow_one_is_not) {
  start({.header_time = milliseconds(20), .body_stall = milliseconds(60)});
  answer_all();
  RawClient stalling(*this);
  stalling.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  EXPECT_EQ(stalling.answer().status, 408);
  EXPECT_TRUE(stalling.hears_the_end());
  // In total, it takes longer than either limit.
  RawClient slow(*this);
  slow.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
  for (int i = 0; i < 10; ++i) {
    const auto then = std::chrono::steady_clock::now() + milliseconds(12);
    until([&] { return std::chrono::steady_clock::now() >= then; });
    slow.say("x");
  }
  EXPECT_EQ(slow.answer().status, 200);
}

TEST_F(HttpServerLimitsTest, a_response_may_take_any_time) {
  const milliseconds brief(20);
  start({.header_time = brief, .body_stall = brief, .idle = brief, .write_stall = brief, .linger = brief});
  RawClient client(*this);
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const auto then = std::chrono::steady_clock::now() + 5 * brief;
  until([&] { return std::chrono::steady_clock::now() >= then; });
  server->begin_stream(handler.requests[0].reply, 200, "");
  ASSERT_TRUE(client.hears("200 OK"));
  const auto later = std::chrono::steady_clock::now() + 5 * brief;
  until([&] { return std::chrono::steady_clock::now() >= later; });
  server->write(handler.requests[0].reply, "at last");
  server->end(handler.requests[0].reply);
  EXPECT_EQ(client.answer().body, "at last");
  EXPECT_TRUE(handler.gone.empty());
}

TEST_F(HttpServerLimitsTest, one_connection_too_many_is_a_503_until_another_closes) {
  start({.connections = 3});
  answer_all();
  std::list<RawClient> clients;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(clients.emplace_back(*this).ask(get()).status, 200);
  RawClient late(*this);
  const Heard heard = late.answer();
  EXPECT_EQ(heard.status, 503);
  EXPECT_EQ(heard.header("Retry-After"), "5");
  EXPECT_EQ(heard.header("Connection"), "close");
  EXPECT_TRUE(late.hears_the_end());
  EXPECT_EQ(server->connections(), 3U);
  clients.pop_front();
  EXPECT_TRUE(until([&] { return server->connections() == 2; }));
  RawClient next(*this);
  EXPECT_EQ(next.ask(get()).status, 200);
}

TEST_F(HttpServerLimitsTest, rejected_connections_hold_only_a_few_descriptors) {
  start({.connections = 1});
  answer_all();
  RawClient first(*this);
  EXPECT_EQ(first.ask(get()).status, 200);
  const std::size_t before = open_descriptors();
  std::list<RawClient> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.emplace_back(*this);
    settle();
  }
  EXPECT_LT(open_descriptors(), before + 200 + 70);
  EXPECT_EQ(first.ask(get()).status, 200);
}

TEST_F(HttpServerLimitsTest, two_thousand_connections_leak_no_descriptors) {
  start({.connections = 5000});
  answer_all();
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 20; ++round) {
    std::list<RawClient> clients;
    for (int i = 0; i < 100; ++i) clients.emplace_back(*this).say(get());
    for (RawClient& client : clients) EXPECT_EQ(client.answer().status, 200);
    EXPECT_EQ(server->connections(), 100U);
    int i = 0;
    for (RawClient& client : clients)
      if (++i % 3 == 0) client.say("GET /half");
  }
  EXPECT_EQ(handler.requests.size(), 2000U);
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(HttpServerLimitsTest, clients_wait_while_no_descriptor_is_free) {
  start();
  answer_all();
  std::list<RawClient> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(*this);  // connected, and in the kernel's queue
  for (RawClient& client : clients) client.say(get());
  {
    const host::FewDescriptors none(0);
    settle();
  }
  EXPECT_EQ(server->connections(), 0U);
  for (RawClient& client : clients) EXPECT_EQ(client.answer().status, 200);
}

// Sends as much as fits to a client that doesn't read.
void fill(HttpServerTest& test, ReplyId reply) {
  while (!test.server->full(reply)) {
    test.server->write(reply, std::string(100'000, 'x'));
    test.settle();
  }
}

TEST_F(HttpServerLimitsTest, a_full_stream_reports_when_it_has_room_again) {
  start({.stream_bytes = 1'000'000});
  RawClient client(*this);
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const ReplyId reply = handler.requests[0].reply;
  server->begin_stream(reply, 200, "");
  EXPECT_FALSE(server->full(reply));
  fill(*this, reply);
  settle();
  EXPECT_TRUE(handler.drained.empty());
  EXPECT_TRUE(until([&] {
    client.listen();
    return !handler.drained.empty();
  }));
  EXPECT_EQ(handler.drained, std::vector{reply});
  EXPECT_FALSE(server->full(reply));
  server->end(reply);
  EXPECT_TRUE(client.answer().whole);
}

TEST_F(HttpServerLimitsTest, a_client_that_reads_nothing_is_disconnected) {
  start({.stream_bytes = 1'000'000, .write_stall = milliseconds(100)});
  RawClient streaming(*this);
  streaming.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const ReplyId reply = handler.requests[0].reply;
  server->begin_stream(reply, 200, "");
  fill(*this, reply);
  EXPECT_TRUE(until([&] { return !handler.gone.empty(); }));
  EXPECT_EQ(handler.gone, std::vector{reply});
  EXPECT_EQ(server->connections(), 0U);
  // The same with a response that ended long ago: nothing uses it anymore, but its memory is needed.
  handler.gone.clear();
  answer_all(std::string(20'000'000, 'x'));
  RawClient answered(*this);
  answered.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 2; }));
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
  EXPECT_TRUE(handler.gone.empty());
}

TEST_F(HttpServerLimitsTest, when_incomplete_bodies_exceed_the_limit_the_largest_is_dropped) {
  start({.held_bytes = 2'000'000});
  answer_all();
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1800000\r\n\r\n";
  RawClient small(*this);
  small.say(head + std::string(400'000, 'x'));
  RawClient large(*this);
  large.say(head + std::string(1'200'000, 'x'));
  settle();
  EXPECT_EQ(server->connections(), 2U);
  RawClient third(*this);
  third.say(head + std::string(800'000, 'x'));
  EXPECT_TRUE(large.hears_the_end());
  EXPECT_EQ(server->connections(), 2U);
  third.close();
  small.say(std::string(1'400'000, 'x'));
  EXPECT_EQ(small.answer().status, 200);
}

TEST_F(HttpServerLimitsTest, when_unread_responses_exceed_the_limit_the_largest_is_dropped) {
  start({.held_bytes = 60'000'000});
  answer_all(std::string(40'000'000, 'x'));
  RawClient first(*this);
  first.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  EXPECT_EQ(server->connections(), 1U);
  RawClient second(*this);
  second.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 2; }));
  EXPECT_TRUE(until([&] { return server->connections() == 1; }));
}

TEST_F(HttpServerLimitsTest, a_client_that_reads_slowly_is_not_disconnected) {
  start({.stream_bytes = 4'000'000, .write_stall = milliseconds(500)});
  int ends[2];  // unlike TCP: reading from one end makes room at the other immediately
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  server->adopt(ends[0], "here");
  RawClient client(*this, RawClient::Descriptor{ends[1]});
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  server->begin_stream(handler.requests[0].reply, 200, "");
  fill(*this, handler.requests[0].reply);
  server->end(handler.requests[0].reply);
  const auto end = std::chrono::steady_clock::now() + milliseconds(800);
  std::string room(50'000, ' ');
  while (std::chrono::steady_clock::now() < end) {
    const auto next = std::chrono::steady_clock::now() + milliseconds(20);
    until([&] { return std::chrono::steady_clock::now() >= next; });
    const ssize_t count = ::recv(client.descriptor(), room.data(), room.size(), MSG_DONTWAIT);
    ASSERT_GT(count, 0) << "it was cut off";
    client.heard.append(room.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_GT(client.answer().body.size(), 4'000'000U);
}

TEST_F(HttpServerLimitsTest, a_connection_is_not_idle_while_its_last_response_is_being_read) {
  start({.idle = milliseconds(30)});
  const std::string body(600'000, 'x');  // more than the sockets hold, and less than fills a stream
  answer_all(body);
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  server->adopt(ends[0], "here");
  RawClient client(*this, RawClient::Descriptor{ends[1]});
  client.say(get());
  const auto then = std::chrono::steady_clock::now() + milliseconds(100);
  until([&] { return std::chrono::steady_clock::now() >= then; });
  EXPECT_EQ(client.answer().body, body);
  EXPECT_TRUE(client.hears_the_end()) << "now it is";
}

TEST_F(HttpServerLimitsTest, an_overflowing_stream_is_closed_and_reported_from_the_event_loop) {
  start({.stream_bytes = 1'000, .overflow_bytes = 10'000'000});
  RawClient client(*this);
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const ReplyId reply = handler.requests[0].reply;
  server->begin_stream(reply, 200, "");
  for (int i = 0; i < 300 && server->connections() > 0; ++i) server->write(reply, std::string(100'000, 'x'));
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_TRUE(handler.gone.empty()) << "not from within write()";
  settle();
  EXPECT_EQ(handler.gone, std::vector{reply});
}

TEST_F(HttpServerLimitsTest, a_client_that_keeps_sending_after_the_last_response_is_disconnected) {
  start({.header_bytes = 100, .linger = milliseconds(50)});
  RawClient client(*this);
  client.say(std::string(200, 'x'));
  EXPECT_EQ(client.answer().status, 431);
  EXPECT_TRUE(until([&] {
    ::send(client.descriptor(), "xxx", 3, MSG_DONTWAIT | MSG_NOSIGNAL);
    return server->connections() == 0;
  }));
}

}  // namespace
}  // namespace mcpivot
