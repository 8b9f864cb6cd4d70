#include "oauth/redirect_listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <vector>

#include "log/last_resort.h"

namespace mcpivot {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t longest_head = 32 * 1024;
constexpr std::size_t most_connections = 16;
constexpr std::chrono::seconds patience_for_head{5};
constexpr std::chrono::seconds patience{60};               // while mcpivot waits for the issuer's answer
constexpr std::chrono::milliseconds pause_of_accept{100};  // when no connection can be taken
constexpr std::string_view path = "/callback";

std::string as_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string page(int status, std::string_view text) {
  const std::string body = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>mcpivot</title>"
      "<p>{}</p><p>You can close this page.</p></html>\n",
      as_html(text));
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n{}",
      status == 200   ? "200 OK"
      : status == 404 ? "404 Not Found"
                      : "400 Bad Request",
      body.size(), body);
}

}  // namespace

// One request and its answer. Keeps itself alive until it is over.
class RedirectListener::Visit : public std::enable_shared_from_this<Visit> {
 public:
  Visit(tcp::socket socket, std::shared_ptr<const RedirectListener::OnRedirect> on_redirect)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), on_redirect_(std::move(on_redirect)) {}

  void start() {
    end_in(patience_for_head);
    asio::async_read_until(socket_, asio::dynamic_buffer(in_, longest_head), "\r\n\r\n",
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (!error) survive("sign-in", [&] { self->on_head(); });
                           });
  }
  // Nothing has been asked yet.
  bool is_idle() const { return idle_; }
  void end() {
    error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
  }

 private:
  void end_in(std::chrono::seconds time) {
    timer_.expires_after(time);
    timer_.async_wait([weak = weak_from_this()](const error_code& error) {
      auto self = weak.lock();
      if (!error && self) self->end();
    });
  }

  void on_head() {
    idle_ = false;
    end_in(patience);
    const std::string_view line = std::string_view(in_).substr(0, in_.find("\r\n"));
    const auto end = line.rfind(" HTTP/1.");
    if (!line.starts_with("GET ") || end == std::string_view::npos || end < 4)
      return answer(400, "mcpivot doesn't understand this request.");
    const std::string_view target = line.substr(4, end - 4);
    if (target.substr(0, target.find('?')) != path) return answer(404, "There is nothing here.");
    const auto query = target.find('?');
    FormFields fields = query == std::string_view::npos ? FormFields() : parse_form(target.substr(query + 1));
    in_.clear();
    (*on_redirect_)(std::move(fields), [self = shared_from_this()](bool ok, const std::string& text) {
      self->answer(ok ? 200 : 400, text);
    });
  }

  void answer(int status, std::string_view text) {
    out_ = page(status, text);
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](const error_code&, std::size_t) {
                        error_code ignored;
                        self->socket_.shutdown(tcp::socket::shutdown_both, ignored);
                        self->timer_.cancel();
                      });
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<const RedirectListener::OnRedirect> on_redirect_;
  bool idle_ = true;
  std::string in_;
  std::string out_;
};

class RedirectListener::Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(asio::io_context& loop, OnRedirect on_redirect)
      : acceptor_(loop),
        timer_(loop),
        on_redirect_(std::make_shared<const OnRedirect>(std::move(on_redirect))) {}

  error_code listen(std::uint16_t port) {
    error_code error;
    const tcp::endpoint here(asio::ip::address_v4::loopback(), port);
    acceptor_.open(here.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(here, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    error_code ignored;
    if (error) {
      acceptor_.close(ignored);
    } else {
      redirect_uri = fmt::format("http://127.0.0.1:{}{}", acceptor_.local_endpoint(ignored).port(), path);
    }
    return error;
  }

  void accept() {
    acceptor_.async_accept([weak = weak_from_this()](const error_code& error, tcp::socket socket) {
      auto self = weak.lock();
      if (!self || !self->acceptor_.is_open()) return;
      if (error) return self->accept_later();
      self->take(std::move(socket));
      self->accept();
    });
  }

  void close() {
    error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
    for (const auto& weak : visits_)
      if (const auto visit = weak.lock(); visit && visit->is_idle()) visit->end();
  }

  std::string redirect_uri;

 private:
  // No descriptors are left, for example.
  void accept_later() {
    timer_.expires_after(pause_of_accept);
    timer_.async_wait([weak = weak_from_this()](const error_code& error) {
      auto self = weak.lock();
      if (!error && self && self->acceptor_.is_open()) self->accept();
    });
  }

  // When there are too many, the one that has been idle longest is closed.
  void take(tcp::socket socket) {
    std::erase_if(visits_, [](const std::weak_ptr<Visit>& visit) { return visit.expired(); });
    if (visits_.size() >= most_connections) {
      const auto oldest = std::ranges::find_if(visits_, [](const std::weak_ptr<Visit>& weak) {
        const auto visit = weak.lock();
        return visit && visit->is_idle();
      });
      if (oldest == visits_.end()) return;
      if (const auto visit = oldest->lock()) visit->end();
      visits_.erase(oldest);
    }
    const auto visit = std::make_shared<Visit>(std::move(socket), on_redirect_);
    visits_.push_back(visit);
    visit->start();
  }

  tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  std::shared_ptr<const OnRedirect> on_redirect_;
  std::vector<std::weak_ptr<Visit>> visits_;  // the oldest first
};

std::expected<std::unique_ptr<RedirectListener>, std::string> RedirectListener::open(asio::io_context& loop,
                                                                                     std::uint16_t port,
                                                                                     bool must_be_it,
                                                                                     OnRedirect on_redirect) {
  auto acceptor = std::make_shared<Acceptor>(loop, std::move(on_redirect));
  error_code error = acceptor->listen(port);
  if (error && !must_be_it) error = acceptor->listen(0);
  if (error)
    return std::unexpected(fmt::format("mcpivot can't listen on 127.0.0.1:{} for the end of the sign-in: {}",
                                       port, error.message()));
  acceptor->accept();
  return std::unique_ptr<RedirectListener>(new RedirectListener(std::move(acceptor)));
}

RedirectListener::RedirectListener(std::shared_ptr<Acceptor> acceptor) : acceptor_(std::move(acceptor)) {}
RedirectListener::~RedirectListener() {
  acceptor_->close();
}

const std::string& RedirectListener::redirect_uri() const {
  return acceptor_->redirect_uri;
}

}  // namespace mcpivot
