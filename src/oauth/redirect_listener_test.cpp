#include "oauth/redirect_listener.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <vector>

namespace mcpivot {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

class Redirects : public testing::Test {
 protected:
  Redirects() {
    auto opened = RedirectListener::open(
        loop, 0, false,
        [](const FormFields&, const RedirectListener::Reply& reply) { reply(true, "Hello"); });
    if (!opened) throw std::runtime_error(opened.error());
    listener = std::move(*opened);
    const std::string& uri = listener->redirect_uri();
    port = static_cast<std::uint16_t>(std::stoi(uri.substr(uri.rfind(':') + 1)));
  }
  tcp::socket connected() {
    tcp::socket socket(loop);
    socket.connect({asio::ip::address_v4::loopback(), port});
    return socket;
  }
  // What the page says, or why there is none.
  std::string visit(tcp::socket& socket) {
    asio::write(socket, asio::buffer(std::string_view("GET /callback?code=5 HTTP/1.1\r\n\r\n")));
    std::string page;
    std::optional<boost::system::error_code> end;
    asio::async_read(socket, asio::dynamic_buffer(page),
                     [&](const boost::system::error_code& error, std::size_t) { end = error; });
    const auto deadline = std::chrono::steady_clock::now() + 4s;
    while (!end && loop.run_one_until(deadline) > 0) {
    }
    return end ? page : "late: " + page;
  }

  asio::io_context loop{1};
  std::unique_ptr<RedirectListener> listener;
  std::uint16_t port = 0;
};

TEST_F(Redirects, idle_connections_do_not_keep_the_browser_out) {
  std::vector<tcp::socket> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(connected());
  tcp::socket browser = connected();
  EXPECT_THAT(visit(browser), testing::HasSubstr("Hello"));
}

TEST_F(Redirects, without_descriptors_it_waits_for_some) {
  // Sanitizers need descriptors when they see a class for the first time.
  boost::asio::steady_timer timer(loop, 1ms);
  timer.async_wait([](const boost::system::error_code&) {});
  loop.run_for(5ms);
  tcp::socket browser = connected();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ASSERT_GE(next, 0);
  ::close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::size_t handlers = loop.run_for(50ms);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_LT(handlers, 5U);
  EXPECT_THAT(visit(browser), testing::HasSubstr("Hello"));
}

}  // namespace
}  // namespace mcpivot
