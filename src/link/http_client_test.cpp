// The client with a peer that sends odd things, over a real connection.
#include "link/http_client.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {
namespace {

using boost::asio::ip::tcp;

class Listener final : public HttpExchange {
 public:
  void on_head(const HttpHead& head) override {
    status = head.status;
    from = head.from;
  }
  void on_body(std::string_view piece) override { body += piece; }
  void on_done() override { done = true; }
  void on_failed(const HttpFailure& told) override { failure = told; }
  bool ended() const { return done || failure.has_value(); }

  int status = 0;
  std::optional<AddressKind> from;
  std::string body;
  bool done = false;
  std::optional<HttpFailure> failure;
};

// Sends one piece after another, each when the loop has had time to read the previous one, and closes.
class Speaker {
 public:
  Speaker(tcp::socket& peer, std::vector<std::string> pieces) : peer_(peer), pieces_(std::move(pieces)) {
    peer_.set_option(tcp::no_delay(true));
  }
  void go_on() {
    if (at_ == pieces_.size()) return peer_.close();
    boost::asio::async_write(peer_, boost::asio::buffer(pieces_[at_++]),
                             [this](const auto&, std::size_t) { let_read(rounds); });
  }

 private:
  static constexpr int rounds = 10;  // of the event loop

  void let_read(int left) {
    boost::asio::post(peer_.get_executor(), [this, left] { left == 0 ? go_on() : let_read(left - 1); });
  }

  tcp::socket& peer_;
  std::vector<std::string> pieces_;
  std::size_t at_ = 0;
};

// The outcome of a request if the peer sends this and closes the connection.
std::shared_ptr<Listener> answered(const std::vector<std::string>& pieces) {
  boost::asio::io_context loop;
  tcp::acceptor acceptor(loop, {boost::asio::ip::address_v4::loopback(), 0});
  tcp::socket peer(loop);
  std::array<char, 4096> request{};
  std::optional<Speaker> speaker;
  acceptor.async_accept(peer, [&](const auto& error) {
    if (error) return;
    peer.async_read_some(boost::asio::buffer(request), [&](const auto&, std::size_t) {
      speaker.emplace(peer, pieces);
      speaker->go_on();
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

// A socket on which nothing ever moves; its operations end when the test says so.
class StuckSocket final : public HttpSocket {
 public:
  explicit StuckSocket(std::vector<OnBytes>& operations) : operations_(operations) {}
  void connect(OnConnected on_connected) override { connected = std::move(on_connected); }
  void read_some(std::span<char>, OnBytes on_bytes) override { operations_.push_back(std::move(on_bytes)); }
  void write(std::string_view, std::string_view, OnBytes on_bytes) override {
    operations_.push_back(std::move(on_bytes));
  }
  bool closed_by_peer() override { return false; }
  std::optional<AddressKind> peer() const override { return std::nullopt; }
  void close() override {}

  OnConnected connected;

 private:
  std::vector<OnBytes>& operations_;
};

class StuckDialer final : public HttpDialer {
 public:
  explicit StuckDialer(std::vector<HttpSocket::OnBytes>& operations) : operations_(operations) {
    origin_.url = *parse_url("http://127.0.0.1:1/");
  }
  std::shared_ptr<HttpSocket> socket() override {
    auto made = std::make_shared<StuckSocket>(operations_);
    last = made;
    return made;
  }
  const HttpOrigin& origin() const override { return origin_; }

  std::weak_ptr<StuckSocket> last;

 private:
  std::vector<HttpSocket::OnBytes>& operations_;
  HttpOrigin origin_;
};

// A TLS operation may still use its buffers after its socket was closed.
TEST(HttpClient, a_connection_stays_until_its_operations_have_ended) {
  boost::asio::io_context loop;
  std::vector<HttpSocket::OnBytes> operations;
  auto dialer = std::make_unique<StuckDialer>(operations);
  StuckDialer& made = *dialer;
  std::weak_ptr<StuckSocket> socket;
  {
    HttpClient client(loop, std::move(dialer), "");
    client.send({.method = "GET", .target = "/", .headers = {}, .body = {}}, std::make_shared<Listener>());
    socket = made.last;
    ASSERT_FALSE(socket.expired());
    std::exchange(socket.lock()->connected, nullptr)("");
    EXPECT_EQ(operations.size(), 2U) << "it writes and reads";
  }
  EXPECT_FALSE(socket.expired()) << "its connection has the buffers";
  operations.clear();
  EXPECT_TRUE(socket.expired());
}

TEST(HttpClient, a_100_continue_is_skipped) {
  const auto heard =
      answered({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"});
  EXPECT_TRUE(heard->done);
  EXPECT_EQ(heard->status, 200);
  EXPECT_EQ(heard->body, "abc");
}

// Of this connection, not of another one that the client may have tried meanwhile.
TEST(HttpClient, a_response_knows_the_kind_of_its_peers_address) {
  EXPECT_EQ(answered({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"})->from, AddressKind::loopback);
}

// Beast asserts that this never happens.
TEST(HttpClient, the_end_of_an_empty_body_may_arrive_byte_by_byte) {
  const auto heard =
      answered({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0", "\r", "\n", "\r", "\n"});
  EXPECT_TRUE(heard->done);
  EXPECT_EQ(heard->status, 200);
  EXPECT_EQ(heard->body, "");
}

TEST(HttpClient, chunk_headers_and_trailers_are_bounded) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3";
  const std::string trailer = "X-Trailer: " + std::string(1000, 'x') + "\r\n";
  std::string trailers;
  for (int i = 0; i < 200; ++i) trailers += trailer;
  for (const std::string& endless :
       {";extension=" + std::string(200'000, 'x'), "\r\nabc\r\n0\r\n" + trailers}) {
    const auto heard = answered({head + endless});
    EXPECT_FALSE(heard->done);
    ASSERT_TRUE(heard->failure.has_value());
    EXPECT_EQ(heard->failure->kind, HttpFailure::nonsense) << heard->failure->text;
  }
  const auto fine = answered({head + ";extension=x\r\nabc\r\n0\r\n" + trailer + "\r\n"});
  EXPECT_TRUE(fine->done);
  EXPECT_EQ(fine->body, "abc");
}

// Nobody asked for another protocol; an exchange without a head must not succeed.
TEST(HttpClient, a_switch_of_protocols_is_an_error) {
  const auto heard = answered({"HTTP/1.1 101 Switching Protocols\r\n\r\nwhatever"});
  EXPECT_FALSE(heard->done);
  ASSERT_TRUE(heard->failure.has_value());
  EXPECT_EQ(heard->failure->kind, HttpFailure::nonsense);
  EXPECT_NE(heard->failure->text.find("101"), std::string::npos) << heard->failure->text;
}

TEST(HttpClient, short_and_long_bodies_arrive_complete) {
  for (const std::size_t size : {1U, 4096U, 4097U, 3'000'000U}) {
    boost::asio::io_context loop;
    tcp::acceptor acceptor(loop, {boost::asio::ip::address_v4::loopback(), 0});
    tcp::socket peer(loop);
    const auto body = std::make_shared<const std::string>(std::string(size - 1, 'x') + "!");
    std::string came;
    acceptor.async_accept(peer, [&](const auto&) {
      boost::asio::async_read_until(peer, boost::asio::dynamic_buffer(came), '!', [&](const auto&, auto) {
        static constexpr std::string_view fine = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        boost::asio::async_write(peer, boost::asio::buffer(fine), [](const auto&, auto) {});
      });
    });
    HttpOrigin origin;
    origin.url = *parse_url("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/");
    HttpClient client(loop, std::move(*HttpDialer::make(loop, origin)), "");
    auto listener = std::make_shared<Listener>();
    client.send({.method = "POST", .target = "/", .headers = {}, .body = body}, listener);
    EXPECT_EQ(client.waiting_bytes(), size);
    while (!listener->ended() && loop.run_one_for(std::chrono::seconds(20)) > 0) continue;
    client.close();
    EXPECT_TRUE(listener->done);
    const std::string head = "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
    EXPECT_TRUE(came == head + *body) << size << ": " << came.substr(0, 200);
  }
}

// As when mcpivot was stopped for a while (SIGSTOP, a debugger, a virtual machine that was paused).
TEST(HttpClient, patience_that_ends_together_with_its_exchange_is_not_held_against_the_next_one) {
  constexpr std::chrono::milliseconds patience{50};
  boost::asio::io_context loop;
  tcp::acceptor acceptor(loop, {boost::asio::ip::address_v4::loopback(), 0});
  tcp::socket peer(loop);
  std::array<char, 4096> request{};
  const auto answer = [&] {
    static constexpr std::string_view fine = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    boost::asio::write(peer, boost::asio::buffer(fine));
  };
  acceptor.async_accept(peer, [&](const auto&) {
    peer.async_read_some(boost::asio::buffer(request), [&](const auto&, auto) {
      answer();
      boost::asio::steady_timer(loop, 2 * patience).wait();  // the event loop stands still
      peer.async_read_some(boost::asio::buffer(request), [&](const auto&, auto) { answer(); });
    });
  });
  HttpOrigin origin;
  origin.url = *parse_url("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/");
  HttpClient client(loop, std::move(*HttpDialer::make(loop, origin)), "");
  const auto second = std::make_shared<Listener>();
  class First final : public HttpExchange {
   public:
    First(HttpClient& client, std::shared_ptr<Listener> next) : client_(client), next_(std::move(next)) {}
    void on_head(const HttpHead&) override {}
    void on_body(std::string_view) override {}
    void on_done() override {
      client_.send({.method = "GET", .target = "/", .headers = {}, .body = {}}, next_);
    }
    void on_failed(const HttpFailure& failure) override { ADD_FAILURE() << failure.text; }

   private:
    HttpClient& client_;
    std::shared_ptr<Listener> next_;
  };
  client.send({.method = "GET", .target = "/", .headers = {}, .body = {}, .patience = patience},
              std::make_shared<First>(client, second));
  while (!second->ended() && loop.run_one_for(std::chrono::seconds(20)) > 0) continue;
  client.close();
  EXPECT_FALSE(second->failure.has_value()) << second->failure->text;
  EXPECT_TRUE(second->done);
}

TEST(HttpClient, anything_but_http_is_reported_as_such) {
  const auto heard = answered({"SSH-2.0-OpenSSH_9.2\r\n"});
  ASSERT_TRUE(heard->failure.has_value());
  EXPECT_EQ(heard->failure->kind, HttpFailure::nonsense);
}

}  // namespace
}  // namespace mcpivot
