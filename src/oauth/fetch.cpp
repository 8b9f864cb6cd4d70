#include "oauth/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/duration_text.h"
#include "link/http_client.h"
#include "log/last_resort.h"

namespace mcpivot {
namespace {

std::string size_text(std::size_t bytes) {
  return bytes >= 1024 * 1024 ? fmt::format("{} MiB", bytes / 1024 / 1024) : fmt::format("{} bytes", bytes);
}

}  // namespace

// Kept alive by its fetcher, and by its own HTTP client while that is in use.
class Fetcher::Fetch final : public HttpExchange, public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(Fetcher& fetcher, FetchRequest request, Then then)
      : fetcher_(fetcher),
        loop_(fetcher.loop_),
        request_(std::move(request)),
        most_bytes_(fetcher.options_.most_bytes),
        then_(std::move(then)),
        timer_(fetcher.loop_) {}

  void start(const Options& options) {
    timer_.expires_after(options.patience);
    timer_.async_wait([weak = weak_from_this(), patience = options.patience](const auto& error) {
      auto self = weak.lock();
      if (!error && self) self->fail(fmt::format("it didn't answer within {}", duration_text(patience)));
    });
    const Url& url = request_.url;
    if (!url.tls) request_.addresses = request_.addresses.only(AddressKind::loopback);
    if (!url.tls && !(is_loopback(url.host) && request_.addresses.allows(AddressKind::loopback)))
      return fail("it isn't an https:// address");
    auto proxy = proxy_for(url, options.variable);
    if (!proxy) return fail(proxy.error());
    auto dialer = HttpDialer::make(loop_, {.url = url,
                                           .proxy = std::move(*proxy),
                                           .cacert = options.cacert,
                                           .insecure = options.insecure && options.insecure->same_origin(url),
                                           .addresses = request_.addresses});
    if (!dialer) return fail(dialer.error());
    std::string headers = fmt::format("Host: {}\r\nUser-Agent: mcpivot/" MCPIVOT_VERSION
                                      "\r\nAccept: {}\r\nConnection: close\r\n",
                                      url.authority(), request_.accept);
    if (!request_.content_type.empty()) headers += "Content-Type: " + request_.content_type + "\r\n";
    client_ = std::make_unique<HttpClient>(loop_, std::move(*dialer), headers + request_.headers);
    client_->send({.method = request_.method,
                   .target = url.target,
                   .headers = {},
                   .body = std::make_shared<const std::string>(request_.body)},
                  shared_from_this());
  }

  // No callback follows.
  void close() {
    then_ = nullptr;
    ended_ = true;
    stop();
  }

 private:
  void on_head(const HttpHead& head) override {
    answer_.status = head.status;
    answer_.content_type = head.content_type;
    answer_.www_authenticate = head.www_authenticate;
    answer_.location = head.location;
    answer_.from = head.from;
    if (request_.head_only) return end(std::move(answer_));
    // Some servers answer every GET with a stream that never ends.
    if (head.content_type == "text/event-stream") return fail("it answers with a stream, not a document");
    if (head.status / 100 != 3) return;
    const auto to = resolve_reference(request_.url, head.location);
    fail(fmt::format("it redirects ({}) to {}, and mcpivot doesn't follow that", head.status,
                     to ? to->shown() : "something that isn't a URL"));
  }

  void on_body(std::string_view piece) override {
    if (ended_) return;
    if (answer_.body.size() + piece.size() > most_bytes_)
      return fail(fmt::format("the document is larger than {}", size_text(most_bytes_)));
    answer_.body += piece;
  }

  void on_done() override { end(std::move(answer_)); }

  void on_failed(const HttpFailure& failure) override { fail(failure.text); }

  void stop() {
    timer_.cancel();
    if (!client_) return;
    client_->close();
    // Through the loop: the client may be what calls us.
    boost::asio::post(loop_, [client = std::shared_ptr<HttpClient>(std::move(client_))] {});
  }

  void fail(const std::string& why) {
    end(std::unexpected(fmt::format("{}: {}", request_.url.shown(), why)));
  }

  void end(std::expected<FetchAnswer, std::string> outcome) {
    if (std::exchange(ended_, true)) return;
    stop();
    // Through the loop: fetch() must not call back from within.
    boost::asio::post(loop_, [self = shared_from_this(), outcome = std::move(outcome)]() mutable {
      self->tell(std::move(outcome));
    });
  }

  void tell(std::expected<FetchAnswer, std::string> outcome) {
    if (!then_) return;  // it was cancelled
    const auto then = std::exchange(then_, nullptr);
    std::erase(fetcher_.running_, shared_from_this());
    survive("fetch", [&] { then(std::move(outcome)); });
  }

  Fetcher& fetcher_;  // exists as long as `then_` is set
  boost::asio::io_context& loop_;
  FetchRequest request_;
  std::size_t most_bytes_;
  Then then_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<HttpClient> client_;
  FetchAnswer answer_;
  bool ended_ = false;
};

Fetcher::Fetcher(boost::asio::io_context& loop, Options options)
    : loop_(loop), options_(std::move(options)) {}

void Fetcher::fetch(FetchRequest request, Then then) {
  auto fetch = std::make_shared<Fetch>(*this, std::move(request), std::move(then));
  running_.push_back(fetch);
  fetch->start(options_);
}

void Fetcher::close() {
  for (const auto& fetch : std::exchange(running_, {})) fetch->close();
}

}  // namespace mcpivot
