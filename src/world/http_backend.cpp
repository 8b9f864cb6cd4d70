#include "world/http_backend.h"

#include <fmt/format.h>

#include "config/credentials.h"
#include "log/log.h"

namespace mcpivot {

std::expected<std::shared_ptr<Backend>, std::string> HttpBackend::connect(
    LinkContext& context, const ServerConfig& config, std::shared_ptr<Authorizer> authorizer) {
  const HttpConfig& http = config.http;
  const auto url = parse_url(http.url);
  if (!url) return std::unexpected(url.error());
  const auto credentials = Credentials::from_headers(http.headers, own_variable);
  if (!credentials) return std::unexpected(credentials.error());
  auto proxy = proxy_for(*url, own_variable);
  if (!proxy) return std::unexpected(proxy.error());
  auto dialer = HttpDialer::make(
      context.loop,
      {.url = *url, .proxy = std::move(*proxy), .cacert = http.cacert, .insecure = http.insecure});
  if (!dialer) return std::unexpected(dialer.error());

  std::string headers = credentials->lines();
  if (!credentials->has("Host")) headers += fmt::format("Host: {}\r\n", url->authority());
  if (!credentials->has("User-Agent")) headers += "User-Agent: mcpivot/" MCPIVOT_VERSION "\r\n";
  auto client = std::make_unique<HttpClient>(context.loop, std::move(*dialer), std::move(headers));
  auto link = std::make_shared<HttpLink>(context, std::move(client),
                                         HttpLink::Options{.url = *url,
                                                           .peer = config.name,
                                                           .limit = config.max_message,
                                                           .advice = credentials->advice(),
                                                           .authorizer = std::move(authorizer)});
  return std::shared_ptr<Backend>(new HttpBackend(context, url->shown(), std::move(link)));
}

HttpBackend::HttpBackend(LinkContext& context, std::string url, std::shared_ptr<HttpLink> link)
    : url_(std::move(url)), link_(std::move(link)), farewell_(context.loop) {}

void HttpBackend::start(Link::Handler& handler, OnEnd on_end) {
  on_end_ = std::move(on_end);
  link_->start(handler);
}

void HttpBackend::end(std::chrono::milliseconds patience) {
  auto done = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->ended("ended its session", false);
  };
  link_->end_session(patience, done);
  farewell_.expires_after(2 * patience);
  farewell_.async_wait([done](const boost::system::error_code& error) {
    if (!error) done();
  });
}

void HttpBackend::close() {
  on_end_ = nullptr;
  farewell_.cancel();
  link_->close();
}

void HttpBackend::on_link_end(std::string_view why) {
  ended(std::string(why), link_->forgotten());
}

void HttpBackend::ended(const std::string& how, bool forgotten) {
  if (!on_end_) return;
  const auto keep = shared_from_this();  // the callee may drop us
  farewell_.cancel();
  std::exchange(on_end_, nullptr)({.how = how,
                                   .from_outside = true,
                                   .forgotten = forgotten,
                                   .unreachable = link_->was_unreachable(),
                                   .exit_code = 0});
}

void HttpBackend::describe(const Describe& line) const {
  line("transport", link_->old_transport() ? "HTTP+SSE (2024-11-05)" : "Streamable HTTP");
  if (!link_->modern())
    line("session", link_->has_session() ? "the daemon gave an id" : "the daemon gave no id");
  line("own stream", link_->listening() ? "open" : "");
  line("connections", std::to_string(link_->connections()));
}

}  // namespace mcpivot
