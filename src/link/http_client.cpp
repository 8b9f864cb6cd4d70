#include "link/http_client.h"

// Beast 1.81 asserts that the end of an empty chunked body comes in at least five bytes. A daemon may send it
// byte by byte, and the parser handles that correctly.
#define BOOST_DISABLE_ASSERTS
#include <boost/beast/http/basic_parser.hpp>
// Included first, while asserts are off.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "log/last_resort.h"

namespace mcpivot {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Long exchanges at the same time; brief ones have a few more connections, so that the answer to a daemon's
// question can never wait for the very call that waits for it.
constexpr std::size_t most_connections = 128;
constexpr std::size_t more_for_brief = 16;
// Beyond this, standing exchanges count like the others.
constexpr std::size_t most_standing = 16;
// Node closes idle connections after 5 s; a request sent at that moment would be lost.
constexpr milliseconds idle_patience{4'000};
constexpr std::size_t usual_room = 16 * 1024;
constexpr std::size_t most_room = 64 * 1024;
// A body of this size is copied, so that it leaves in one packet with its head, and over TLS in one record.
constexpr std::size_t most_joined = 4 * 1024;
constexpr std::uint32_t most_header_bytes = 64 * 1024;

// Keeps the few fields that matter, and passes the body on as it comes.
class AnswerParser final : public http::basic_parser<false> {
 public:
  explicit AnswerParser(std::function<void(std::string_view)> on_body) : on_body_(std::move(on_body)) {
    eager(true);
    body_limit(boost::none);
    header_limit(most_header_bytes);
  }
  HttpHead head;
  milliseconds kept_alive = idle_patience;  // how long the peer keeps an idle connection

 private:
  using view = boost::beast::string_view;
  void on_request_impl(http::verb, view, view, int, error_code&) override {}
  void on_response_impl(int code, view reason, int, error_code&) override {
    head.status = code;
    head.reason = std::string(reason.substr(0, 100));
  }
  void on_field_impl(http::field name, view name_text, view value, error_code&) override {
    const std::string_view text(value.data(), value.size());
    if (name == http::field::content_type) {
      head.content_type = lower(text.substr(0, text.find(';')));
      while (head.content_type.ends_with(' ')) head.content_type.pop_back();
    } else if (name == http::field::location) {
      head.location = text;
    } else if (name == http::field::www_authenticate) {
      head.www_authenticate.append(head.www_authenticate.empty() ? "" : ", ").append(text);
    } else if (name == http::field::keep_alive) {
      int seconds = 0;
      const auto at = text.find("timeout=");
      if (at == std::string_view::npos) return;
      if (std::from_chars(text.data() + at + 8, text.data() + text.size(), seconds).ec == std::errc() &&
          seconds < 3600)
        kept_alive = std::min(kept_alive, milliseconds(std::max(seconds * 1000 - 1000, 0)));
    } else if (name == http::field::unknown &&
               lower({name_text.data(), name_text.size()}) == "mcp-session-id") {
      head.session_id = text;
    }
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(view body, error_code&) override {
    on_body_({body.data(), body.size()});
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, view body, error_code&) override {
    on_body_({body.data(), body.size()});
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  std::function<void(std::string_view)> on_body_;
};

}  // namespace

class HttpClient::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpClient& client, std::shared_ptr<HttpSocket> socket)
      : client_(client), socket_(std::move(socket)), timer_(client.loop_) {}

  enum class State : std::uint8_t { connecting, idle, busy, closed };
  State state = State::connecting;
  bool standing = false;  // its current exchange has no end
  std::vector<std::function<void(const std::string&)>> probes;
  steady_clock::time_point idle_until{};

  void connect() {
    socket_->connect([weak = weak_from_this()](const std::string& trouble) {
      auto self = weak.lock();
      if (self && self->state == State::connecting) self->client_.on_opened(self, trouble);
    });
  }

  const HttpExchange* exchange() const { return exchange_.get(); }
  // The exchange must end within this time.
  void hurry(milliseconds patience) {
    timer_.cancel();
    ++patience_;
    if (patience.count() == 0) return;
    timer_.expires_after(patience);
    timer_.async_wait([weak = weak_from_this(), number = patience_](const error_code& error) {
      auto self = weak.lock();
      // If time was up together with something else, such as the end of the exchange, it can't be cancelled.
      if (!error && self && self->state == State::busy && self->patience_ == number)
        self->fail({HttpFailure::late, "it did not answer in time"});
    });
  }
  bool usable() { return !socket_->closed_by_peer(); }

  void begin(Waiting waiting) {
    state = State::busy;
    standing = waiting.request.standing;
    exchange_ = std::move(waiting.exchange);
    kept_ = true;
    parser_.emplace([this](std::string_view piece) { on_body(piece); });
    head_told_ = written_ = false;
    const HttpRequest& request = waiting.request;
    out_.clear();
    out_.append(request.method).append(" ").append(client_.target_prefix_).append(request.target);
    out_.append(" HTTP/1.1\r\n").append(client_.headers_).append(request.headers);
    if (request.method == "POST")
      out_.append("Content-Length: ").append(std::to_string(request.body_size())).append("\r\n");
    out_.append("\r\n");
    body_.reset();
    if (request.body_size() > most_joined)
      body_ = request.body;
    else if (request.body)
      out_.append(*request.body);
    if (request.patience.count() > 0) hurry(request.patience);
    const auto keep = exchange_;
    keep->on_begun();
    if (state != State::busy) return;
    // What it writes from and reads into must stay until the operation has ended, which is after close().
    socket_->write(out_, body_ ? std::string_view(*body_) : std::string_view(),
                   [self = shared_from_this()](const error_code& error, std::size_t count) {
                     if (self->state != State::busy) return;
                     self->written_ = true;
                     self->body_.reset();
                     if (self->out_.capacity() > most_room) std::string().swap(self->out_);
                     if (error && count == 0) return self->fail({HttpFailure::unsent, error.message()});
                     // What it answered before it closed its end can still be read, and is the better
                     // explanation.
                     if (error && !self->reading_) self->fail({HttpFailure::broken, error.message()});
                   });
    read();
  }

  // Also while idle: this is how we notice that the peer closes the connection.
  void read() {
    if (reading_ || client_.paused_ || state == State::closed || state == State::connecting) return;
    if (in_.empty()) in_.resize(usual_room);
    if (std::exchange(was_full_, false)) in_.resize(filled_ + most_room);
    reading_ = true;
    socket_->read_some(
        {in_.data() + filled_, in_.size() - filled_},
        [self = shared_from_this()](const error_code& error, std::size_t count) {
          self->reading_ = false;
          if (self->state == State::closed) return;
          // The parser may have stopped anywhere: this answer is lost.
          if (!survive("HTTP", [&] { self->on_read(error, count); }) && self->state == State::busy)
            self->fail({HttpFailure::nonsense, "mcpivot could not read its answer"});
        });
  }

  void close() {
    state = State::closed;
    timer_.cancel();
    socket_->close();
    exchange_.reset();
  }

 private:
  void on_read(const error_code& error, std::size_t count) {
    const auto keep = shared_from_this();
    if (state == State::idle) return client_.remove(keep);  // closed, or out of sync: no longer usable
    filled_ += count;
    was_full_ = filled_ == in_.size();
    if (error) return on_end(error);
    while (state == State::busy && filled_ > 0) {
      error_code trouble;
      const std::size_t used = parser_->put(boost::asio::buffer(in_.data(), filled_), trouble);
      if (state != State::busy) return;  // it was cancelled
      filled_ -= used;
      if (filled_ > 0) std::memmove(in_.data(), in_.data() + used, filled_);
      if (trouble && trouble != http::error::need_more)
        return fail({HttpFailure::nonsense, "its answer isn't HTTP: " + trouble.message()});
      tell_head();
      if (state != State::busy) return;
      if (parser_->is_done()) return done();
      if (trouble == http::error::need_more || used == 0) break;
    }
    // The parser waits for the end of a chunk's head, or of the trailers, without a limit of its own.
    if (filled_ > most_header_bytes)
      return fail({HttpFailure::nonsense, "its answer has a chunk header or trailer of more than " +
                                              std::to_string(most_header_bytes) + " bytes"});
    read();
  }

  void on_end(const error_code& error) {
    error_code trouble;
    if (parser_->got_some()) parser_->put_eof(trouble);
    if (state != State::busy) return;
    kept_ = false;
    if (parser_->got_some() && !trouble && parser_->is_done()) {
      tell_head();
      if (state == State::busy) done();
      return;
    }
    const bool eof = error == boost::asio::error::eof;
    fail({HttpFailure::broken, eof ? "it closed the connection before it answered" : error.message()});
  }

  void tell_head() {
    if (head_told_ || !parser_->is_header_done() || parser_->head.status / 100 == 1) return;
    head_told_ = true;
    parser_->head.from = socket_->peer();
    hurry(milliseconds(0));
    const auto keep = exchange_;  // it may drop us
    keep->on_head(parser_->head);
  }

  void on_body(std::string_view piece) {
    tell_head();
    const auto keep = exchange_;
    if (state == State::busy) keep->on_body(piece);
  }

  void done() {
    if (parser_->head.status == 101)
      return fail({HttpFailure::nonsense, "it switched protocols (101) without being asked"});
    if (parser_->head.status / 100 == 1) {  // informational: the answer is still to come
      parser_.emplace([this](std::string_view piece) { on_body(piece); });
      return read_on();
    }
    const auto exchange = std::exchange(exchange_, nullptr);
    hurry(milliseconds(0));
    standing = false;
    const auto self = shared_from_this();
    // Bytes after a complete answer don't belong to any exchange.
    kept_ = kept_ && written_ && parser_->keep_alive() && filled_ == 0;
    idle_until = steady_clock::now() + parser_->kept_alive;
    if (kept_ && parser_->kept_alive.count() > 0) {
      state = State::idle;
      if (in_.size() > usual_room) {
        in_.resize(usual_room);
        in_.shrink_to_fit();
      }
      read();
    } else {
      client_.remove(self);
    }
    exchange->on_done();
    if (state == State::idle) client_.on_free(self);
  }

  void read_on() {
    if (filled_ > 0) return on_read({}, 0);
    read();
  }

  void fail(const HttpFailure& failure) {
    const auto exchange = std::exchange(exchange_, nullptr);
    client_.remove(shared_from_this());
    exchange->on_failed(failure);
  }

  HttpClient& client_;
  std::shared_ptr<HttpSocket> socket_;
  boost::asio::steady_timer timer_;
  std::uint64_t patience_ = 0;  // counts the settings of the timer
  std::shared_ptr<HttpExchange> exchange_;
  std::optional<AnswerParser> parser_;
  std::string out_;
  std::shared_ptr<const std::string> body_;  // what follows, if that isn't in `out_`
  std::vector<char> in_;
  std::size_t filled_ = 0;
  bool reading_ = false;
  bool was_full_ = false;  // the last read could have brought more
  bool written_ = false;
  bool head_told_ = false;
  bool kept_ = true;
};

HttpClient::HttpClient(boost::asio::io_context& loop, std::unique_ptr<HttpDialer> dialer, std::string headers)
    : loop_(loop), dialer_(std::move(dialer)), headers_(std::move(headers)), idle_timer_(loop) {
  const HttpOrigin& origin = dialer_->origin();
  if (origin.proxy && !origin.url.tls) {
    target_prefix_ = origin.url.origin();
    if (!origin.proxy->authorization.empty())
      headers_ += "Proxy-Authorization: " + origin.proxy->authorization + "\r\n";
  }
}

HttpClient::~HttpClient() {
  close();
}

void HttpClient::close() {
  closed_ = true;
  idle_timer_.cancel();
  waiting_.clear();
  waiting_bytes_ = 0;
  for (const auto& connection : std::exchange(connections_, {})) connection->close();
}

void HttpClient::send(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  if (closed_) return;
  waiting_bytes_ += request.body_size();
  waiting_.push_back({std::move(request), std::move(exchange)});
  dispatch();
}

void HttpClient::cancel(const HttpExchange& exchange) {
  const auto waits =
      std::ranges::find_if(waiting_, [&](const Waiting& w) { return w.exchange.get() == &exchange; });
  if (waits != waiting_.end()) {
    waiting_bytes_ -= waits->request.body_size();
    waiting_.erase(waits);
    return;
  }
  const auto found =
      std::ranges::find_if(connections_, [&](const auto& c) { return c->exchange() == &exchange; });
  if (found == connections_.end()) return;
  remove(std::shared_ptr(*found));
  if (!waiting_.empty())
    boost::asio::post(loop_, [this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) dispatch();
    });
}

void HttpClient::hurry(const HttpExchange& exchange, milliseconds patience) {
  for (const auto& connection : connections_)
    if (connection->exchange() == &exchange) connection->hurry(patience);
}

void HttpClient::probe(std::function<void(const std::string&)> then) {
  if (!closed_) open(std::move(then));
}

void HttpClient::resume() {
  paused_ = false;
  const auto all = connections_;
  for (const auto& connection : all) connection->read();
}

// Gives the free connections to the first exchanges that wait, and opens as many as are missing.
void HttpClient::dispatch() {
  while (!waiting_.empty()) {
    auto idle = std::ranges::find(connections_, Connection::State::idle, &Connection::state);
    if (idle == connections_.end()) break;
    const auto connection = (*idle)->shared_from_this();
    if (!connection->usable()) {
      remove(connection);
      continue;
    }
    auto first = waiting_.begin();
    const auto busy = static_cast<std::size_t>(
        std::ranges::count(connections_, Connection::State::busy, &Connection::state));
    if (busy - put_aside() >= most_connections)
      first = std::ranges::find_if(waiting_, [](const Waiting& waiting) { return waiting.urgent(); });
    if (first == waiting_.end()) return;
    Waiting next = std::move(*first);
    waiting_.erase(first);
    waiting_bytes_ -= next.request.body_size();
    connection->begin(std::move(next));
  }
  const auto connecting = static_cast<std::size_t>(
      std::ranges::count(connections_, Connection::State::connecting, &Connection::state));
  const bool urgent = std::ranges::any_of(waiting_, [](const Waiting& w) { return w.urgent(); });
  for (std::size_t i = connecting; i < waiting_.size() && may_open(urgent); ++i) open({});
}

std::size_t HttpClient::put_aside() const {
  const auto standing = std::ranges::count(connections_, true, &Connection::standing);
  return std::min(static_cast<std::size_t>(standing), most_standing);
}

bool HttpClient::may_open(bool urgent) const {
  return connections_.size() - put_aside() < most_connections + (urgent ? more_for_brief : 0);
}

void HttpClient::open(std::function<void(const std::string&)> probe) {
  auto connection = std::make_shared<Connection>(*this, dialer_->socket());
  if (probe) connection->probes.push_back(std::move(probe));
  connections_.push_back(connection);
  connection->connect();
}

void HttpClient::on_opened(const std::shared_ptr<Connection>& connection, const std::string& trouble) {
  const auto alive = alive_;
  const auto probes = std::move(connection->probes);
  if (!trouble.empty()) {
    remove(connection);
    // The exchanges that wait for it would do no better with another connection.
    const auto failed = std::exchange(waiting_, {});
    waiting_bytes_ = 0;
    for (const Waiting& waiting : failed) waiting.exchange->on_failed({HttpFailure::unreachable, trouble});
  } else {
    connection->state = Connection::State::idle;
    connection->idle_until = steady_clock::now() + idle_patience;
    on_free(connection);
    connection->read();
  }
  for (const auto& probe : probes) probe(trouble);
}

void HttpClient::on_free(const std::shared_ptr<Connection>&) {
  if (closed_) return;
  dispatch();
  close_idle_later();
}

void HttpClient::remove(const std::shared_ptr<Connection>& connection) {
  connection->close();
  std::erase(connections_, connection);
}

void HttpClient::close_idle_later() {
  if (idle_timer_runs_) return;
  idle_timer_runs_ = true;
  idle_timer_.expires_after(milliseconds(500));
  idle_timer_.async_wait([this, alive = std::weak_ptr(alive_)](const error_code& error) {
    if (error || !alive.lock()) return;
    idle_timer_runs_ = false;
    const auto all = connections_;
    bool more = false;
    for (const auto& connection : all) {
      if (connection->state != Connection::State::idle) continue;
      if (connection->idle_until <= steady_clock::now()) {
        remove(connection);
      } else {
        more = true;
      }
    }
    if (more) close_idle_later();
  });
}

}  // namespace mcpivot
