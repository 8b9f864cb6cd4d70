#include "front/http_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <utility>

#include "front/answer_head.h"
#include "log/last_resort.h"
#include "log/log.h"

namespace mcpivot {
namespace {

using boost::system::error_code;
using Now = Wire::Now;

constexpr std::size_t worth_keeping = 16 * 1024;  // as memory for the next output
// In one turn of the loop, to be fair to others.
constexpr int most_reads = 4;
constexpr std::size_t most_written = 1024 * 1024;
// A smaller change isn't worth reporting.
constexpr std::size_t worth_telling = 64 * 1024;

}  // namespace

HttpConnection::HttpConnection(const Context& context, std::uint64_t id, int descriptor,
                               std::unique_ptr<Wire> wire, const HttpAsk& from)
    : context_(context),
      id_(id),
      socket_(context.loop, descriptor),
      wire_(std::move(wire)),
      timer_(context.loop),
      reader_({.header_bytes = context.limits.header_bytes, .body_bytes = context.limits.body_bytes}, from),
      peer_(from.peer),
      since_(Clock::now()),
      last_read_(since_),
      last_write_(since_) {}

void HttpConnection::start() {
  guarded([this] {
    shake_hands();
    settle();
  });
}

void HttpConnection::turn_away() {
  turned_away_ = true;
  start();
}

// If it throws, the state is unknown: this connection is lost, but no other.
void HttpConnection::guarded(const std::function<void()>& step) {
  const auto self = shared_from_this();
  if (!survive("HTTP client", step) && state_ != State::closed) lose("an internal error in mcpivot");
}

// --- reading

bool HttpConnection::wants_to_read() const {
  switch (state_) {
    case State::handshake:
    case State::head:
    case State::body:
    case State::lingering:
      return true;
    case State::answering:
    case State::streaming:
    case State::writing:
      return !peer_ended_ && in_.size() < context_.limits.pipelined_bytes;
    case State::closed:
      return false;
  }
  return false;
}

void HttpConnection::wait_to_read() {
  if (read_waits_ || read_needs_write_ || !wants_to_read()) return;
  read_waits_ = true;
  auto then = [self = shared_from_this()](const error_code& error) {
    self->read_waits_ = false;
    if (error || self->state_ == State::closed) return;
    self->guarded([&] {
      const Cork cork(self->context_.corks);
      if (std::exchange(self->write_needs_read_, false)) self->flush_later();
      self->on_readable();
    });
  };
  if (wire_->holds_bytes()) {
    boost::asio::post(context_.loop, [then = std::move(then)] { then({}); });
  } else {
    socket_.async_wait(socket_.wait_read, std::move(then));
  }
}

void HttpConnection::shake_hands() {
  switch (wire_->shake_hands().now) {
    case Now::done:
      state_ = State::head;
      if (turned_away_) {
        HttpAnswer answer = plain_answer(503, "Too many clients are connected. Try again later.");
        answer.headers += "Retry-After: 5\r\n";
        answer.close = true;
        put(std::move(answer));
      }
      return;
    case Now::when_readable:
      return;
    case Now::when_writable:
      read_needs_write_ = true;
      return;
    case Now::ended:
      return drop();
    case Now::broken:
      log_debug("HTTP client {}: the TLS handshake failed", peer_);
      return finish();  // the client may still read why
  }
}

void HttpConnection::on_readable() {
  if (state_ == State::handshake) shake_hands();
  for (int reads = 0; reads < most_reads && state_ != State::handshake && wants_to_read(); ++reads) {
    std::span<char> room = context_.room;
    if (has_reply() || state_ == State::writing)
      room = room.first(std::min(room.size(), context_.limits.pipelined_bytes - in_.size()));
    const auto [now, count] = wire_->read(room);
    if (now == Now::ended || now == Now::broken) return on_end_of_input(now == Now::broken);
    if (now == Now::when_writable) read_needs_write_ = true;
    if (now != Now::done) break;
    on_bytes({room.data(), count});
    if (count < room.size() && !wire_->holds_bytes()) break;
  }
  settle();
}

void HttpConnection::on_bytes(std::string_view bytes) {
  last_read_ = Clock::now();
  if (state_ == State::lingering) return;
  if (state_ == State::head && in_.empty() && !first_) since_ = last_read_;
  in_ += bytes;
  read_requests();
}

// The peer closed the connection, or its side of it, which we treat alike: a client that wants an answer
// stays connected.
void HttpConnection::on_end_of_input(bool broken) {
  if (has_reply()) return lose("the client closed the connection");
  if (broken || out_.empty() || state_ == State::lingering) return drop();
  // It may still read what we have sent.
  peer_ended_ = true;
  close_after_ = true;
  state_ = State::writing;
  settle();
}

void HttpConnection::read_requests() {
  if (reading_requests_) return;
  reading_requests_ = true;
  std::size_t used = 0;
  while (state_ == State::head || state_ == State::body) {
    if (std::exchange(stale_, false)) reader_.next();
    std::string_view rest = std::string_view(in_).substr(used);
    const RequestReader::Step step = reader_.read(rest);
    used = in_.size() - rest.size();
    if (step == RequestReader::Step::more) break;
    if (step == RequestReader::Step::head) on_head();
    if (step == RequestReader::Step::request) on_request();
    if (step == RequestReader::Step::refused) refuse(reader_.refusal());
  }
  in_.erase(0, used);
  if (in_.empty() && in_.capacity() > worth_keeping) std::string().swap(in_);
  reading_requests_ = false;
}

void HttpConnection::on_head() {
  first_ = false;
  state_ = State::body;
  reply_ = context_.owner.begin(*this);
  std::optional<HttpAnswer> refusal;
  if (!survive("HTTP request", [&] { refusal = context_.owner.judge(reply_, reader_.ask()); }))
    refusal = plain_answer(500, "Internal error.");
  if (state_ == State::closed) return;
  if (!refusal && reader_.too_large()) refusal = plain_answer(413, "The request's body is too large.");
  if (refusal) {
    refusal->close = refusal->close || reader_.announces_body();  // which won't be read
    context_.owner.end(std::exchange(reply_, ReplyId::none));
    return put(std::move(*refusal));
  }
  if (!reader_.expects_continue()) return;
  out_.append("HTTP/1.1 100 Continue\r\n\r\n");
  flush_later();
}

void HttpConnection::on_request() {
  state_ = State::answering;
  const ReplyId reply = reply_;
  if (survive("HTTP request", [&] { context_.owner.on_request(reply, reader_.ask(), reader_.take_body()); }))
    return;
  if (reply_ != reply || state_ != State::answering) return;
  HttpAnswer sorry = plain_answer(500, "Internal error.");
  sorry.close = true;
  respond(std::move(sorry));
}

// --- answering

void HttpConnection::respond(HttpAnswer answer) {
  if (state_ == State::streaming) return lose("its answer was to end in another one");
  if (state_ != State::answering && state_ != State::body) return;
  answer.close = answer.close || state_ == State::body;
  context_.owner.end(std::exchange(reply_, ReplyId::none));
  put(std::move(answer));
}

// Our own answer to what can't become a request any more.
void HttpConnection::refuse(HttpAnswer answer) {
  if (reply_ != ReplyId::none) context_.owner.lose(std::exchange(reply_, ReplyId::none));
  put(std::move(answer));
}

void HttpConnection::put(HttpAnswer answer) {
  close_after_ = answer.close || !reader_.keeps_alive() || context_.owner.is_stopping();
  const bool body_allowed = may_have_body(answer.status);
  out_.append(answer_head({.status = answer.status,
                           .headers = answer.headers,
                           .length = body_allowed ? std::optional(answer.body.size()) : std::nullopt,
                           .http_1_0 = reader_.is_http_1_0(),
                           .close = close_after_}));
  if (body_allowed && reader_.ask().method != "HEAD") out_.take(std::move(answer.body));
  end_answer();
}

void HttpConnection::begin_stream(int status, std::string_view headers) {
  if (state_ != State::answering) return;
  state_ = State::streaming;
  chunked_ = !reader_.is_http_1_0();  // otherwise the end of the connection ends the answer
  bodiless_ = reader_.ask().method == "HEAD" || !may_have_body(status);
  close_after_ = !chunked_ || !reader_.keeps_alive() || context_.owner.is_stopping();
  out_.append(answer_head({.status = status,
                           .headers = headers,
                           .chunked = chunked_ && may_have_body(status),
                           .http_1_0 = !chunked_,
                           .close = close_after_}));
  flush_later();
}

void HttpConnection::write(std::string bytes) {
  if (state_ != State::streaming || bodiless_ || bytes.empty()) return;
  if (chunked_) out_.append(fmt::format("{:x}\r\n", bytes.size()));
  out_.take(std::move(bytes));
  if (chunked_) out_.append("\r\n");
  if (out_.bytes() > context_.limits.overflow_bytes) {
    log_warn("HTTP client {}: disconnected: {} bytes wait for it, and it isn't reading", peer_, out_.bytes());
    return lose("it isn't reading");
  }
  was_full_ = was_full_ || full();
  flush_later();
}

void HttpConnection::end() {
  if (state_ != State::streaming) return;
  context_.owner.end(std::exchange(reply_, ReplyId::none));
  if (chunked_ && !bodiless_) out_.append("0\r\n\r\n");
  close_after_ = close_after_ || context_.owner.is_stopping();
  end_answer();
}

bool HttpConnection::full() const {
  return out_.bytes() > context_.limits.stream_bytes;
}

void HttpConnection::end_answer() {
  was_full_ = false;
  flush_later();
  if (close_after_ || full()) {
    state_ = State::writing;
  } else {
    next_request();
  }
}

void HttpConnection::next_request() {
  state_ = State::head;
  stale_ = true;  // cleared later: the code that has just answered may still be using the request
  since_ = Clock::now();
  if (reading_requests_ || in_.empty()) return;
  // Through the loop: the code that has just answered must not be called again from within.
  boost::asio::post(context_.loop, [self = shared_from_this()] {
    if (self->state_ == State::closed) return;
    self->guarded([&] {
      const Cork cork(self->context_.corks);
      self->read_requests();
      self->settle();
    });
  });
}

// --- writing

void HttpConnection::flush_later() {
  tell_held();
  if (flush_waits_ || write_waits_ || state_ == State::closed) return;
  flush_waits_ = true;
  last_write_ = Clock::now();
  if (context_.corks.held()) {
    context_.corks.flush_later(shared_from_this());
  } else {
    boost::asio::post(context_.loop, [self = shared_from_this()] { self->flush(); });
  }
}

void HttpConnection::wait_to_write() {
  if (write_waits_) return;
  write_waits_ = true;
  socket_.async_wait(socket_.wait_write, [self = shared_from_this()](const error_code& error) {
    self->write_waits_ = false;
    if (error || self->state_ == State::closed) return;
    self->guarded([&] {
      const Cork cork(self->context_.corks);
      if (std::exchange(self->read_needs_write_, false)) self->on_readable();
      self->flush();
    });
  });
}

void HttpConnection::flush() {
  flush_waits_ = false;
  if (state_ == State::closed) return;
  guarded([this] {
    std::array<iovec, 64> pieces;
    std::size_t written = 0;
    while (!out_.empty() && !write_needs_read_) {
      if (written >= most_written) {
        wait_to_write();
        break;
      }
      const auto [now, count] = wire_->write(std::span(pieces).first(out_.gather(pieces)));
      if (now == Now::ended || now == Now::broken) {
        if (has_reply()) return lose("the client closed the connection");
        return drop();
      }
      if (now == Now::when_writable) wait_to_write();
      if (now == Now::when_readable) write_needs_read_ = true;
      if (now != Now::done) break;
      out_.consume(count);
      written += count;
    }
    if (written > 0) last_write_ = Clock::now();
    if (state_ == State::head && in_.empty() && !first_) since_ = last_write_;
    const bool low = out_.bytes() <= context_.limits.stream_bytes / 4;
    if (was_full_ && low) {
      was_full_ = false;
      context_.owner.on_drained(reply_);
    }
    if (state_ == State::writing && close_after_ && out_.empty()) finish();
    if (state_ == State::writing && !close_after_ && low) next_request();
    settle();
  });
}

// Everything is sent. If the connection were closed while unread data is still arriving, the peer might never
// see the answer; so it gets some time to stop sending.
void HttpConnection::finish() {
  wire_->finish();
  if (peer_ended_) return drop();
  state_ = State::lingering;
  since_ = Clock::now();
  std::string().swap(in_);
}

// --- ends

void HttpConnection::cut() {
  if (state_ == State::closed) return;
  if (has_reply()) reset_by_us();
  reply_ = ReplyId::none;
  drop();
}

void HttpConnection::close_if_idle() {
  if (state_ == State::handshake) return drop();
  if (state_ != State::head || !in_.empty()) return;
  if (out_.empty()) return drop();
  close_after_ = true;  // the last answer has yet to be written
  state_ = State::writing;
}

void HttpConnection::shed() {
  log_warn(
      "HTTP client {}: disconnected: the clients' unread answers take too much memory, and most of it is "
      "this one's",
      peer_);
  lose("too much waits for it");
}

void HttpConnection::lose(const char* why) {
  log_debug("HTTP client {}: {}", peer_, why);
  reset_by_us();
  drop();
}

// Pending output is dropped, and an answer without a length doesn't look complete.
void HttpConnection::reset_by_us() {
  if (!socket_.is_open()) return;
  const ::linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void HttpConnection::drop() {
  if (state_ == State::closed) return;
  if (reply_ != ReplyId::none) context_.owner.lose(std::exchange(reply_, ReplyId::none));
  state_ = State::closed;
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  out_ = Outbox();
  if (!reading_requests_) std::string().swap(in_);
  tell_held();
  context_.owner.on_closed(*this);
}

// --- time

// Called after every event.
void HttpConnection::settle() {
  if (state_ == State::closed) return;
  if (read_needs_write_) wait_to_write();
  wait_to_read();
  set_timer();
  tell_held();
}

void HttpConnection::tell_held() {
  const std::size_t all = state_ == State::closed ? 0 : out_.bytes() + in_.size() + reader_.body_bytes();
  const std::size_t now = all - all % worth_telling;
  if (now != held_) context_.owner.on_held(*this, std::exchange(held_, now), now);
}

HttpConnection::Clock::time_point HttpConnection::deadline() const {
  const HttpLimits& limits = context_.limits;
  switch (state_) {
    case State::handshake:
      return since_ + limits.header_time;
    case State::head:
      if (first_ || !in_.empty()) return since_ + limits.header_time;
      return out_.empty() ? since_ + limits.idle : last_write_ + limits.write_stall;
    case State::body:
      return last_read_ + limits.body_stall;
    case State::answering:
    case State::streaming:
    case State::writing:
      return out_.empty() ? Clock::time_point::max() : last_write_ + limits.write_stall;
    case State::lingering:
      return since_ + limits.linger;
    case State::closed:
      break;
  }
  return Clock::time_point::max();
}

// A timer that rings too early is set again; most deadlines are met, and so cost nothing.
void HttpConnection::set_timer() {
  const Clock::time_point at = deadline();
  if (at >= timer_at_) return;
  timer_at_ = at;
  timer_.expires_at(at);
  timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->state_ == State::closed) return;
    self->timer_at_ = Clock::time_point::max();
    self->guarded([&] {
      const Cork cork(self->context_.corks);
      if (Clock::now() >= self->deadline()) self->on_deadline();
      self->settle();
    });
  });
}

void HttpConnection::on_deadline() {
  const bool in_request = state_ == State::body || (state_ == State::head && !in_.empty());
  if (in_request) {
    HttpAnswer late = plain_answer(408, "The request took too long to arrive.");
    late.close = true;
    return refuse(std::move(late));
  }
  if (out_.empty()) return drop();
  log_warn("HTTP client {}: disconnected: it has read nothing for {} s", peer_,
           std::chrono::duration_cast<std::chrono::seconds>(context_.limits.write_stall).count());
  lose("it isn't reading");
}

}  // namespace mcpivot
