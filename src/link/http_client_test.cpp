// The client against a peer that says odd things, over a real connection.
#include "link/http_client.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <optional>

namespace mcpivot {
namespace {

using boost::asio::ip::tcp;

class Listener final : public HttpExchange {
 public:
  void on_head(const HttpHead& head) override { status = head.status; }
  void on_body(std::string_view piece) override { body += piece; }
  void on_done() override { done = true; }
  void on_failed(const HttpFailure& told) override { failure = told; }
  bool ended() const { return done || failure.has_value(); }

  int status = 0;
  std::string body;
  bool done = false;
  std::optional<HttpFailure> failure;
};

// What comes of a request if the peer says this and closes the connection.
std::shared_ptr<Listener> answered(const std::string& says) {
  boost::asio::io_context loop;
  tcp::acceptor acceptor(loop, {boost::asio::ip::address_v4::loopback(), 0});
  tcp::socket peer(loop);
  std::array<char, 4096> request{};
  acceptor.async_accept(peer, [&](const auto& error) {
    if (error) return;
    peer.async_read_some(boost::asio::buffer(request), [&](const auto&, std::size_t) {
      boost::asio::async_write(peer, boost::asio::buffer(says),
                               [&](const auto&, std::size_t) { peer.close(); });
    });
  });
  HttpOrigin origin;
  origin.url = *parse_url("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/");
  HttpClient client(loop, std::move(*HttpDialer::make(loop, origin)), "");
  auto listener = std::make_shared<Listener>();
  client.send({.method = "GET", .target = "/", .headers = {}, .body = {}}, listener);
  while (!listener->ended() && loop.run_one_for(std::chrono::seconds(20)) > 0) continue;
  client.close();
  return listener;
}

TEST(HttpClient, an_answer_behind_a_continue_is_the_answer) {
  const auto heard = answered("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_TRUE(heard->done);
  EXPECT_EQ(heard->status, 200);
  EXPECT_EQ(heard->body, "abc");
}

// Nobody asked for another protocol; an exchange without a head must not end well.
TEST(HttpClient, a_switch_of_protocols_is_no_answer) {
  const auto heard = answered("HTTP/1.1 101 Switching Protocols\r\n\r\nwhatever");
  EXPECT_FALSE(heard->done);
  ASSERT_TRUE(heard->failure.has_value());
  EXPECT_EQ(heard->failure->kind, HttpFailure::nonsense);
  EXPECT_NE(heard->failure->text.find("101"), std::string::npos) << heard->failure->text;
}

TEST(HttpClient, what_is_no_http_is_told_as_such) {
  const auto heard = answered("SSH-2.0-OpenSSH_9.2\r\n");
  ASSERT_TRUE(heard->failure.has_value());
  EXPECT_EQ(heard->failure->kind, HttpFailure::nonsense);
}

}  // namespace
}  // namespace mcpivot
