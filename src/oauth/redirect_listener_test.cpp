#include "oauth/redirect_listener.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "host/few_descriptors.h"

namespace mcpivot {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

class Redirects : public testing::Test {
 protected:
  Redirects() {
    auto opened =
        RedirectListener::open(loop, 0, false, [this](const FormFields&, RedirectListener::Reply now) {
          if (reply_at_once)
            now(true, "Hello");
          else
            reply = std::move(now);
        });
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
  bool reply_at_once = true;
  RedirectListener::Reply reply;  // of the visit that waits for it
};

TEST_F(Redirects, idle_connections_do_not_block_the_browser) {
  std::vector<tcp::socket> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(connected());
  tcp::socket browser = connected();
  EXPECT_THAT(visit(browser), testing::HasSubstr("Hello"));
}

TEST_F(Redirects, waits_while_no_descriptor_is_free) {
  tcp::socket browser = connected();
  std::size_t handlers = 0;
  {
    const host::FewDescriptors none(0);
    handlers = loop.run_for(50ms);
  }
  EXPECT_LT(handlers, 5U);
  EXPECT_THAT(visit(browser), testing::HasSubstr("Hello"));
}

TEST_F(Redirects, the_event_loop_runs_only_until_the_page_is_written) {
  const tcp::socket idle = connected();
  tcp::socket browser = connected();
  reply_at_once = false;
  asio::write(browser, asio::buffer(std::string_view("GET /callback?code=5 HTTP/1.1\r\n\r\n")));
  while (!reply) ASSERT_EQ(loop.run_one_for(20s), 1U);
  listener.reset();
  loop.restart();
  loop.run_for(10ms);
  EXPECT_FALSE(loop.stopped()) << "the page is still to come";
  std::exchange(reply, nullptr)(true, "Goodbye");
  loop.restart();
  loop.run_for(4s);  // shorter than the time limit of idle visitors
  EXPECT_TRUE(loop.stopped());
  std::string page;
  boost::system::error_code end;
  asio::read(browser, asio::dynamic_buffer(page), end);
  EXPECT_THAT(page, testing::HasSubstr("Goodbye"));
}

}  // namespace
}  // namespace mcpivot
