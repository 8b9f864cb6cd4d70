#include "link/http_exchanges.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "base/utf8.h"
#include "base/without_queries.h"
#include "log/log.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_text = 16 * 1024;
constexpr std::size_t most_error = 1024 * 1024;  // as JSON
constexpr std::size_t text_shown = 300;
constexpr int most_redirects = 5;
constexpr int most_breaks = 5;
constexpr int most_resends = 3;
// With another token each time: a refresh, a new sign-in, more scopes.
constexpr int most_authorizations = 4;
constexpr int most_rejected_listens = 2;
constexpr milliseconds usual_retry{1'000};
constexpr milliseconds shortest_retry{100};
constexpr milliseconds longest_retry{60'000};
// Some daemons don't close the stream after the answer.
constexpr milliseconds after_answer{2'000};
// For requests that need no computation.
constexpr milliseconds brief_patience{30'000};
// A daemon of the old transport says at once where to post.
constexpr milliseconds endpoint_patience{5'000};
constexpr std::size_t most_over_limit = 1024 * 1024 * 1024;
constexpr std::size_t usual_body = 4 * 1024;

std::string excerpt(std::string_view text) {
  std::string shown = as_utf8(text.substr(0, text_shown));
  std::ranges::replace_if(shown, [](unsigned char c) { return c < ' '; }, ' ');
  while (shown.ends_with(' ')) shown.pop_back();
  return text.size() > text_shown ? shown + "…" : shown;
}

// A sentence that others follow.
std::string sentence(std::string text) {
  const bool ends = text.ends_with('.') || text.ends_with('!') || text.ends_with('?');
  return ends ? text : text + ".";
}

bool mentions_session(std::string_view text) {
  return lower(text).find("session") != std::string::npos;
}

// The message of a JSON-RPC error, or else the body itself.
std::string words_of(std::string_view body) {
  const std::string_view message = find_member(find_member(body, "error"), "message");
  return message.starts_with('"') ? string_value(message) : excerpt(body);
}

// The error object in a body that is a JSON-RPC error, with or without an id; otherwise nothing.
std::string_view error_in(std::string_view body) {
  JsonCursor cursor(body);
  if (!cursor.value() || !cursor.end() || string_value(find_member(body, "jsonrpc")) != "2.0") return {};
  const std::string_view error = find_member(body, "error");
  int code = 0;
  const std::string_view number = find_member(error, "code");
  const bool numbered = std::from_chars(number.data(), number.data() + number.size(), code).ec == std::errc();
  return numbered && find_member(error, "message").starts_with('"') ? error : std::string_view();
}

}  // namespace

// --- what they have in common

void HttpLink::Exchange::on_head(const HttpHead& head) {
  head_ = head;
  text_.clear();
  if (ok() && !token_.empty() && link_->options_.authorizer) link_->options_.authorizer->accepted(token_);
}

bool HttpLink::Exchange::authorize(Authorizer::Then then) {
  const auto& authorizer = link_->options_.authorizer;
  const Authorizer::Rejection rejection{
      .status = head_.status, .challenge = head_.www_authenticate, .token = token_, .address = head_.from};
  if (!authorizer || authorizations_ == most_authorizations || !authorizer->concerns(rejection)) return false;
  ++authorizations_;
  authorizer->rejected(rejection, std::move(then));
  return true;
}

void HttpLink::Exchange::on_body(std::string_view piece) {
  const std::size_t most = head_.content_type == "application/json" ? most_error : most_text;
  text_ += piece.substr(0, most - std::min(most, text_.size()));
}

bool HttpLink::Exchange::is_forgotten() const {
  if (link_->session_id_.empty()) return false;
  return head_.status == 404 || (head_.status == 400 && mentions_session(text_));
}

// Another daemon listens there now, and what we say makes no sense to it: a legacy one misses a session,
// which a modern one doesn't have; a modern one misses the version that it knows.
bool HttpLink::Exchange::is_of_other_era() const {
  if (link_->modern()) return (head_.status == 400 || head_.status == 404) && mentions_session(text_);
  const std::string_view code = find_member(error_in(text_), "code");
  return head_.status == 400 && (code == "-32020" || code == "-32022");
}

bool HttpLink::Exchange::is_redirect() const {
  return (head_.status == 301 || head_.status == 302 || head_.status == 307 || head_.status == 308) &&
         !head_.location.empty();
}

std::expected<std::string, std::string> HttpLink::Exchange::redirected() {
  const auto to = resolve_reference(link_->options_.url, head_.location);
  if (!to) return std::unexpected(fmt::format("redirects to something that isn't a URL ({})", head_.status));
  if (!to->same_origin(link_->options_.url))
    return std::unexpected(
        fmt::format("redirects to {}, which is another server; if that is right, give that address "
                    "with --url",
                    to->shown()));
  if (++redirects_ > most_redirects)
    return std::unexpected(fmt::format("redirects in circles (more than {} times)", most_redirects));
  const bool permanent = head_.status == 301 || head_.status == 308;
  if (permanent && !link_->old_transport()) link_->target_ = to->target;
  return to->target;
}

std::string HttpLink::Exchange::complaint() const {
  const std::string words = words_of(text_);
  return fmt::format("answered {} {}{}{}", head_.status, as_utf8(head_.reason), words.empty() ? "" : ": ",
                     words);
}

// --- a request

HttpLink::Call::Call(std::shared_ptr<HttpLink> link, Outgoing outgoing)
    : Exchange(std::move(link)),
      outgoing_(std::move(outgoing)),
      parser_(link_->options_.limit),
      timer_(link_->context_.loop) {}

void HttpLink::Call::post() {
  token_ = link_->token();
  link_->client_->send(link_->request(outgoing_), shared_from_this());
}

void HttpLink::Call::on_begun() {
  if (!std::exchange(begun_, true)) link_->begun(outgoing_.position);
}

void HttpLink::Call::on_head(const HttpHead& head) {
  Exchange::on_head(head);
  if (ok() && outgoing_.known == Method::initialize) link_->opened_session(head);
  if (ok() && std::exchange(link_->listen_refused_, false)) link_->listen_later(milliseconds(0));
}

void HttpLink::Call::on_body(std::string_view piece) {
  if (is_stream()) return on_events(piece);
  if (ok() && head_.content_type == "application/json" && !link_->old_transport()) return on_json(piece);
  Exchange::on_body(piece);
}

void HttpLink::Call::on_json(std::string_view piece) {
  if (body_size_ + piece.size() > link_->options_.limit) {
    const auto self = shared_from_this();
    link_->client_->cancel(*this);
    return fail(
        code::internal_error,
        fmt::format("it answered with more than {} bytes, which is the limit; raise it with --max-message, "
                    "or ask for less",
                    link_->options_.limit));
  }
  if (!body_) body_ = new Buffer(std::max(usual_body, piece.size()));
  if (body_size_ + piece.size() > body_->capacity())
    body_->grow(std::max(body_size_ + piece.size(), 2 * body_->capacity()));
  std::memcpy(body_->data() + body_size_, piece.data(), piece.size());
  body_size_ += piece.size();
}

void HttpLink::Call::on_json_complete() {
  if (body_size_ == 0) return fail(code::internal_error, "its answer is empty");
  const std::string_view text(body_->data(), body_size_);
  if (is_batch(text)) {
    link_->deliver_batch(body_->data(), body_size_);
    return finish();
  }
  const auto message = link_->read(body_->data(), body_size_, body_);
  if (!message)
    return fail(code::internal_error,
                fmt::format("it answered with something that isn't an MCP message ({}): {}",
                            message.error().reason, excerpt(text)));
  if (!message->is_answer() || !is_own(message->text(message->id))) {
    if (message->is_answer() && message->id)
      return fail(code::internal_error, "it answered a request that wasn't made");
    if (message->is_answer()) return on_refused();
    link_->handle(*message);
    return fail(code::internal_error, "it answered with a message that isn't an answer");
  }
  if (outgoing_.known == Method::initialize) link_->agreed(*message);
  finish();
  link_->handle(*message);
}

void HttpLink::Call::on_events(std::string_view piece) {
  const Cork cork(link_->context_.corks);
  const auto self = shared_from_this();
  while (auto event = parser_.next(piece)) {
    if (!event->type.empty() && event->type != "message") continue;
    if (event->over) {
      answered_ = answered_ || (event->over->method().empty() && is_own(event->over->id()));
      link_->handler_->on_oversize(*event->over, link_->options_.limit);
    } else {
      char* const data = parser_.buffer()->data();
      if (is_batch(event->data)) {
        link_->deliver_batch(data, event->data.size());
        answered_ = true;
      } else if (const auto message = link_->read(data, event->data.size(), parser_.buffer())) {
        const bool answer = message->is_answer() && is_own(message->text(message->id));
        if (answer && outgoing_.known == Method::initialize) link_->agreed(*message);
        if (answer) {
          answered_ = true;
          link_->client_->hurry(*this, after_answer);
        }
        link_->handle(*message);
      } else {
        link_->handler_->on_unreadable(event->data, message.error());
      }
    }
    if (link_->ended_ || link_->handler_ == nullptr || finished_) return;
  }
  if (parser_.skimmed() > most_over_limit) {
    link_->client_->cancel(*this);
    fail(code::internal_error, "its answer doesn't end, and is far over the limit");
  }
}

void HttpLink::Call::on_done() {
  const auto self = shared_from_this();
  if (finished_) return;
  if (answered_) return finish();
  if (is_redirect()) {
    const auto target = redirected();
    if (!target) return fail(code::internal_error, "it " + target.error());
    HttpRequest request = resuming_ ? link_->stream_request(parser_.last_id()) : link_->request(outgoing_);
    request.target = *target;
    return link_->client_->send(std::move(request), self);
  }
  if (!ok()) return on_error_status();
  if (is_stream()) return stream_ended(false, "ended its event stream without an answer");
  if (link_->old_transport()) return finish();  // the answer comes over the one stream
  if (head_.content_type == "application/json") return on_json_complete();
  fail(code::internal_error,
       head_.content_type.empty()
           ? fmt::format("it responded {} without an answer to the request", head_.status)
           : fmt::format("it answered with {}, which is neither JSON nor an event stream: {}",
                         excerpt(head_.content_type), excerpt(text_)));
}

void HttpLink::Call::on_failed(const HttpFailure& failure) {
  const auto self = shared_from_this();
  if (finished_) return;
  if (answered_) return finish();
  if (failure.kind == HttpFailure::unreachable) return link_->unreachable(failure.text);
  if (failure.kind == HttpFailure::unsent && ++resends_ <= most_resends)
    return resuming_ ? resume_stream() : post();
  if (failure.kind == HttpFailure::broken || failure.kind == HttpFailure::unsent)
    return stream_ended(true, failure.text);
  fail(code::internal_error, failure.text);
}

// It had no effect, and is as good as not sent.
void HttpLink::Call::on_authorized(const std::expected<void, Authorizer::Refusal>& outcome) {
  if (finished_ || link_->ended_) return;
  if (outcome) return resuming_ ? resume_stream() : post();
  if (resuming_) {
    finish();
    return link_->lost(outgoing_.id, true, "broke the stream of its answer, and then " + complaint());
  }
  if (outcome.error().words.empty()) return on_refused();
  fail(code::connection_closed, outcome.error().words, head_.status);
}

void HttpLink::Call::refused_stream(const HttpHead& head, const std::string& text, const std::string& token) {
  head_ = head;
  text_ = text;
  token_ = token;
  on_error_status();
}

void HttpLink::Call::on_error_status() {
  const auto authorized = [weak = weak_from_this()](const std::expected<void, Authorizer::Refusal>& outcome) {
    if (auto self = weak.lock()) self->on_authorized(outcome);
  };
  if (authorize(authorized)) {
    begun_ = false;
    if (!resuming_) link_->unwritten_.insert(outgoing_.position);
    return;
  }
  // A listen is reopened automatically; ending the session for it would cost the calls in flight.
  const bool decides = outgoing_.known != Method::initialize && outgoing_.known != Method::discover &&
                       outgoing_.known != Method::listen;
  if (is_forgotten() || (decides && is_of_other_era()))
    return link_->forget_session(resuming_ ? 0 : outgoing_.position);
  // A gateway that lost the daemon halfway through says 502; 503 means that it didn't even try.
  if (is_down()) return link_->down(!resuming_ && head_.status == 503 ? outgoing_.position : 0, complaint());
  if (resuming_) {
    finish();
    return link_->lost(outgoing_.id, true,
                       "broke the stream of its answer and could not resume it: " + complaint());
  }
  // A daemon that answers in JSON-RPC accepts POSTs here: it is modern, or refuses only this message.
  const bool refuses_post = head_.status == 405;
  const bool perhaps_old =
      refuses_post ||
      ((head_.status == 400 || head_.status == 404 || head_.status == 406) && error_in(text_).empty());
  if (perhaps_old && outgoing_.known == Method::initialize && !link_->old_transport() && !link_->modern())
    return link_->try_old_transport(shared_from_this());
  on_refused();
}

// Our ids are numbers; a bridge between the eras has requests of its own, whose ids are strings.
bool HttpLink::Call::is_own(std::string_view id) const {
  const std::int64_t number = own_id(outgoing_.id);
  return number != 0 ? own_id(id) == number : same_id(id, outgoing_.id);
}

// An error that only concerns this request.
void HttpLink::Call::on_refused() {
  const std::string_view body = body_ ? std::string_view(body_->data(), body_size_) : std::string_view(text_);
  if (head_.status == 401 || head_.status == 403)
    return fail(code::connection_closed,
                fmt::format("it {} {}", sentence(complaint()), link_->options_.advice), head_.status);
  // The code that decides which era the daemon speaks needs its original answer.
  if (link_->modern() || outgoing_.known == Method::initialize) {
    std::string error(error_in(body));
    std::ranges::replace_if(error, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    const std::string line = fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", outgoing_.id, error);
    if (!error.empty() && read_message(line)) {
      const auto self = shared_from_this();
      finish();
      return link_->deliver_own(line);
    }
  }
  if (head_.status == 404 && link_->session_id_.empty() && error_in(body).empty())
    return fail(code::internal_error,
                fmt::format("it {} Nothing speaks MCP at {}: check the path of that address (--url, or "
                            "\"url\" in the configuration file)",
                            sentence(complaint()), link_->options_.url.shown()),
                head_.status);
  const auto message = read_message(body);
  if (message && message->kind == Kind::error &&
      (!message->id || message->text(message->id) == "null" || is_own(message->text(message->id)))) {
    const std::string_view number = find_member(message->text(message->error), "code");
    int code = code::internal_error;
    std::from_chars(number.data(), number.data() + number.size(), code);
    return fail(code, words_of(body));
  }
  fail(code::internal_error, "it " + (text_.empty() && body_ ? "answered: " + excerpt(body) : complaint()),
       head_.status);
}

void HttpLink::Call::fail(int code, const std::string& why, int status) {
  if (finished_) return;
  const auto self = shared_from_this();
  finish();
  log_debug("{}: request {} failed: {}", link_->options_.peer, outgoing_.id, without_queries(why));
  const std::string data = status == 0 ? std::string() : fmt::format(R"({{"httpStatus":{}}})", status);
  link_->deliver_own(
      error_answer(outgoing_.id, code, fmt::format("{}: {}", link_->options_.peer, why), data));
}

void HttpLink::Call::finish() {
  finished_ = true;
  timer_.cancel();
  link_->calls_.erase(outgoing_.id);
}

void HttpLink::Call::stream_ended(bool broken, const std::string& why) {
  parser_.restart();
  body_size_ = 0;
  if (parser_.last_id() != resumed_at_) breaks_ = 0;
  resumed_at_ = parser_.last_id();
  breaks_ += broken ? 1 : 0;
  if (!parser_.last_id().empty() && breaks_ <= most_breaks && !link_->modern()) return resume_later(broken);
  if (broken) return link_->doubt(shared_from_this(), why);
  finish();
  link_->lost(outgoing_.id, true, why);
}

// A daemon that ends the stream in good order wants us to come back later, as often as it likes: the call's
// deadline is the limit. A broken connection may mean that the daemon is gone: check at once.
void HttpLink::Call::resume_later(bool broken) {
  auto wait = [weak = weak_from_this(), broken](const std::string& trouble) {
    auto self = weak.lock();
    if (!self || self->finished_ || self->link_->ended_) return;
    if (!trouble.empty()) return self->link_->unreachable(trouble);
    const milliseconds usual = broken && self->breaks_ <= 1 ? milliseconds(0) : usual_retry;
    const auto asked = self->parser_.retry();
    self->timer_.expires_after(asked ? std::clamp(*asked, shortest_retry, longest_retry) : usual);
    self->timer_.async_wait([weak](const boost::system::error_code& error) {
      auto late = weak.lock();
      if (!error && late && !late->finished_ && !late->link_->ended_) late->resume_stream();
    });
  };
  if (broken) return link_->client_->probe(std::move(wait));
  wait({});
}

void HttpLink::Call::resume_stream() {
  resuming_ = true;
  token_ = link_->token();
  link_->client_->send(link_->stream_request(parser_.last_id()), shared_from_this());
}

// --- a notification, or an answer

HttpLink::Brief::Brief(std::shared_ptr<HttpLink> link, Outgoing outgoing)
    : Exchange(std::move(link)), outgoing_(std::move(outgoing)) {}

void HttpLink::Brief::post(const std::string& redirected_to) {
  token_ = link_->token();
  HttpRequest request = link_->request(outgoing_);
  if (!redirected_to.empty()) request.target = redirected_to;
  request.brief = true;
  request.patience = brief_patience;
  link_->client_->send(std::move(request), shared_from_this());
}

void HttpLink::Brief::on_begun() {
  link_->begun(outgoing_.position);
}

void HttpLink::Brief::on_head(const HttpHead& head) {
  Exchange::on_head(head);
  link_->client_->hurry(*this, brief_patience);
}

void HttpLink::Brief::on_done() {
  const auto self = shared_from_this();
  if (is_forgotten()) return link_->forget_session(outgoing_.position);
  if (is_down()) return link_->down(outgoing_.position, complaint());
  if (is_redirect()) {
    if (const auto target = redirected()) return post(*target);
  }
  const auto authorized = [self](const std::expected<void, Authorizer::Refusal>& outcome) {
    if (self->link_->ended_) return;
    if (outcome) return self->post();
    self->finish();
  };
  if (!ok() && authorize(authorized)) return;
  if (!ok()) log_warn("{}: a notification or answer was rejected: it {}", link_->options_.peer, complaint());
  finish();
}

void HttpLink::Brief::on_failed(const HttpFailure& failure) {
  const auto self = shared_from_this();
  if (failure.kind == HttpFailure::unreachable) return link_->unreachable(failure.text);
  // Sending a notification or an answer twice does no harm.
  const bool lost = failure.kind == HttpFailure::broken || failure.kind == HttpFailure::unsent;
  if (lost && !std::exchange(repeated_, true)) return post();
  log_warn("{}: a notification or answer may be lost: {}", link_->options_.peer, failure.text);
  finish();
}

void HttpLink::Brief::finish() {
  if (!outgoing_.cancels.empty()) link_->drop_call(outgoing_.cancels);
  if (outgoing_.known == Method::initialized) link_->on_initialized();
}

// --- what the daemon sends unasked

HttpLink::Listener::Listener(std::shared_ptr<HttpLink> link, bool again)
    : Exchange(std::move(link)), parser_(link_->options_.limit), again_(again) {}

void HttpLink::Listener::on_head(const HttpHead& head) {
  Exchange::on_head(head);
  if (!is_stream()) return;
  link_->listening_ = true;
  link_->listens_rejected_ = 0;
}

void HttpLink::Listener::on_body(std::string_view piece) {
  if (!is_stream()) return Exchange::on_body(piece);
  link_->deliver_events(parser_, piece);
  link_->last_event_id_ = parser_.last_id().empty() ? link_->last_event_id_ : parser_.last_id();
}

void HttpLink::Listener::on_done() {
  link_->listening_ = false;
  if (is_stream())
    return link_->listen_later(
        std::clamp(parser_.retry().value_or(usual_retry), shortest_retry, longest_retry));
  if (is_redirect()) {
    if (const auto target = redirected(); target && redirects_ == 1) return link_->listen_at(*target);
  }
  const auto authorized = [link = link_](const std::expected<void, Authorizer::Refusal>& outcome) {
    if (outcome) return link->listen_at(link->target_);
    link->listen_refused_ = true;
  };
  if (!ok() && link_->listens_rejected_ < most_rejected_listens && authorize(authorized)) {
    ++link_->listens_rejected_;
    return;
  }
  // If there has been no stream yet, a 404 may just mean that there never is one.
  if (again_ && is_forgotten()) return link_->forget_session(0);
  if (again_ && is_down()) return link_->down(0, complaint());
  log_at(head_.status == 405 ? LogLevel::debug : LogLevel::info, "{}: it offers no stream of its own: it {}",
         link_->options_.peer, complaint());
}

void HttpLink::Listener::on_failed(const HttpFailure& failure) {
  link_->listening_ = false;
  if (failure.kind == HttpFailure::unreachable) return link_->unreachable(failure.text);
  if (failure.kind != HttpFailure::broken && failure.kind != HttpFailure::unsent) {
    log_warn("{}: its own stream can't be used: {}", link_->options_.peer, failure.text);
    return;
  }
  // Perhaps the daemon is gone: reconnect at once, but not in a tight loop.
  const bool young = std::chrono::steady_clock::now() - since_ < usual_retry;
  link_->listen_later(young ? usual_retry : milliseconds(0));
}

// --- the old transport

HttpLink::OldStream::OldStream(std::shared_ptr<HttpLink> link, std::shared_ptr<Call> call)
    : Exchange(std::move(link)), call_(std::move(call)), parser_(link_->options_.limit) {}

void HttpLink::OldStream::on_head(const HttpHead& head) {
  Exchange::on_head(head);
  link_->client_->hurry(*this, endpoint_patience);
}

void HttpLink::OldStream::on_body(std::string_view piece) {
  if (!is_stream()) return Exchange::on_body(piece);
  if (open_) return link_->deliver_events(parser_, piece);
  while (auto event = parser_.next(piece)) {
    if (event->type != "endpoint") continue;
    on_endpoint(event->data);
    if (open_ && !link_->ended_) link_->deliver_events(parser_, piece);
    return;
  }
}

void HttpLink::OldStream::on_endpoint(std::string_view reference) {
  const auto to = resolve_reference(link_->options_.url, reference);
  if (!to || !to->same_origin(link_->options_.url)) {
    link_->client_->cancel(*this);
    return call_->fail(code::internal_error,
                       "it speaks the old HTTP+SSE transport, but its endpoint isn't on this server");
  }
  open_ = true;
  call_.reset();
  link_->client_->hurry(*this, milliseconds(0));
  link_->old_transport_opened(*to);
}

void HttpLink::OldStream::on_done() {
  if (open_) return link_->end("ended its event stream");
  if (head_.status == 401 || head_.status == 403) return call_->refused_stream(head_, text_, token_);
  call_->fail_as_refused();
}

void HttpLink::OldStream::on_failed(const HttpFailure& failure) {
  if (failure.kind == HttpFailure::unreachable) return link_->unreachable(failure.text);
  if (open_) return link_->end(fmt::format("broke its event stream: {}", failure.text));
  call_->fail_as_refused();
}

}  // namespace mcpivot
