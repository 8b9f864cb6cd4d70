// Fetches from a peer on this machine that sends what the test wants.
#include "oauth/fetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <optional>

namespace mcpivot {
namespace {

using boost::asio::ip::tcp;
using Outcome = std::expected<FetchAnswer, std::string>;

class Fetching : public testing::Test {
 protected:
  Fetching() : acceptor_(loop_, {boost::asio::ip::address_v4::loopback(), 0}), peer_(loop_) {
    acceptor_.async_accept(peer_, [this](const auto& error) {
      if (error) return;
      peer_.async_read_some(boost::asio::buffer(request_), [this](const auto&, std::size_t count) {
        asked_.assign(request_.data(), count);
        if (!says_.empty())
          boost::asio::async_write(peer_, boost::asio::buffer(says_), [this](auto&&...) { peer_.close(); });
      });
    });
  }

  FetchRequest request(const std::string& host = "127.0.0.1") {
    return {.url = *parse_url("http://" + host + ":" + std::to_string(acceptor_.local_endpoint().port()) +
                              "/doc?secret=1")};
  }
  Outcome fetched(FetchRequest wanted, Fetcher::Options options = {}) {
    Fetcher fetcher(loop_, std::move(options));
    std::optional<Outcome> outcome;
    fetcher.fetch(std::move(wanted), [&](Outcome told) { outcome = std::move(told); });
    EXPECT_FALSE(outcome.has_value()) << "called back from within";
    while (!outcome && loop_.run_one_for(std::chrono::seconds(20)) > 0) continue;
    return outcome ? std::move(*outcome) : std::unexpected("nobody was told");
  }

  boost::asio::io_context loop_;
  tcp::acceptor acceptor_;
  tcp::socket peer_;
  std::array<char, 4096> request_{};
  std::string asked_;
  std::string says_;
};

TEST_F(Fetching, a_document_has_its_status_and_challenge) {
  says_ =
      "HTTP/1.1 401 No\r\nContent-Type: Application/JSON; charset=utf-8\r\nWWW-Authenticate: Basic\r\n"
      "WWW-Authenticate: Bearer scope=\"a\"\r\nContent-Length: 2\r\n\r\n{}";
  FetchRequest wanted = request();
  wanted.method = "POST";
  wanted.content_type = "application/x-www-form-urlencoded";
  wanted.body = "grant_type=x";
  const auto answer = fetched(wanted);
  ASSERT_TRUE(answer.has_value()) << answer.error();
  EXPECT_EQ(answer->status, 401);
  EXPECT_EQ(answer->content_type, "application/json");
  EXPECT_EQ(answer->body, "{}");
  EXPECT_EQ(answer->www_authenticate, "Basic, Bearer scope=\"a\"");
  EXPECT_EQ(answer->from, AddressKind::loopback);
  EXPECT_TRUE(asked_.starts_with("POST /doc?secret=1 HTTP/1.1\r\n")) << asked_;
  EXPECT_TRUE(asked_.ends_with("\r\n\r\ngrant_type=x")) << asked_;
}

TEST_F(Fetching, a_too_large_document_is_an_error) {
  says_ = "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + std::string(2'000'000, ' ');
  const auto answer = fetched(request());
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().find("larger than 1 MiB"), std::string::npos) << answer.error();
  EXPECT_EQ(answer.error().find("secret"), std::string::npos) << answer.error();
}

TEST_F(Fetching, a_redirect_is_not_followed_and_its_target_is_named) {
  says_ = "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest?x=1\r\nContent-Length: 0\r\n\r\n";
  const auto answer = fetched(request());
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().find("http://169.254.169.254/latest"), std::string::npos) << answer.error();
}

TEST_F(Fetching, a_fetch_of_only_the_head_accepts_redirects_and_streams) {
  FetchRequest wanted = request();
  wanted.head_only = true;
  says_ = "HTTP/1.1 307 There\r\nLocation: /doc/\r\nContent-Length: 0\r\n\r\n";
  auto answer = fetched(wanted);
  ASSERT_TRUE(answer.has_value()) << answer.error();
  EXPECT_EQ(answer->status, 307);
  EXPECT_EQ(answer->location, "/doc/");
  EXPECT_EQ(answer->from, AddressKind::loopback);
}

TEST_F(Fetching, a_fetch_of_only_the_head_does_not_wait_for_the_body) {
  FetchRequest wanted = request();
  wanted.head_only = true;
  says_ = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: \n\n";
  const auto answer = fetched(wanted);
  ASSERT_TRUE(answer.has_value()) << answer.error();
  EXPECT_EQ(answer->content_type, "text/event-stream");
}

TEST_F(Fetching, a_silent_peer_times_out) {
  const auto answer = fetched(request(), {.patience = std::chrono::milliseconds(50)});
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().find("within 50 ms"), std::string::npos) << answer.error();
}

TEST_F(Fetching, a_name_from_the_internet_cannot_lead_to_this_machine) {
  for (const std::string host : {"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"}) {
    FetchRequest wanted = request(host);
    wanted.url.tls = true;
    wanted.addresses = AddressRule::named_by(AddressKind::open);
    const auto answer = fetched(wanted);
    ASSERT_FALSE(answer.has_value());
    EXPECT_NE(answer.error().find("an address of this machine"), std::string::npos) << answer.error();
    EXPECT_EQ(asked_, "");
  }
}

// Resolved by the system, unlike "localhost".
TEST_F(Fetching, a_name_counts_as_the_address_that_it_leads_to) {
  tcp::resolver resolver(loop_);
  for (const std::string& name : {boost::asio::ip::host_name(), std::string("ip6-localhost")}) {
    boost::system::error_code error;
    const auto found = resolver.resolve(name, "443", error);
    const bool is_here = !error && std::ranges::all_of(found, [](const auto& entry) {
      return kind_of(entry.endpoint().address()) != AddressKind::open;
    });
    if (!is_here) continue;
    FetchRequest wanted{.url = *parse_url("https://" + name + "/doc")};
    wanted.addresses = AddressRule::named_by(AddressKind::open);
    const auto answer = fetched(wanted, {.variable = [](const char*) { return nullptr; }});
    ASSERT_FALSE(answer.has_value());
    EXPECT_NE(answer.error().find("mcpivot doesn't connect to"), std::string::npos) << answer.error();
  }
}

TEST_F(Fetching, plain_http_is_only_used_on_this_machine) {
  FetchRequest wanted{.url = *parse_url("http://192.0.2.1/doc")};
  auto answer = fetched(wanted);
  ASSERT_FALSE(answer.has_value());
  wanted = request();
  wanted.addresses = AddressRule::named_by(AddressKind::open);
  answer = fetched(wanted);
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().find("https://"), std::string::npos) << answer.error();
}

TEST_F(Fetching, no_callback_runs_after_the_owner_is_destroyed) {
  says_ = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  bool told = false;
  {
    Fetcher fetcher(loop_, {});
    fetcher.fetch(request(), [&](const Outcome&) { told = true; });
    fetcher.fetch({.url = *parse_url("http://10.0.0.1/")}, [&](const Outcome&) { told = true; });
  }
  acceptor_.close();
  loop_.run_for(std::chrono::seconds(20));
  EXPECT_TRUE(loop_.stopped()) << "there is still something to do";
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace mcpivot
