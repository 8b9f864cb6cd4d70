#include "link/http_link.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "link/http_exchanges.h"
#include "log/last_resort.h"
#include "log/log.h"
#include "rpc/json_cursor.h"
#include "rpc/line_reader.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// When more than this waits, the daemon is too slow: stop feeding it. Below the other mark: go on.
constexpr std::size_t high_water = 1024 * 1024;
constexpr std::size_t overflow = 64 * high_water;
constexpr std::size_t low_water = 256 * 1024;
constexpr std::size_t longest_session_id = 1024;
// A daemon of the old transport sends its endpoint at once.
constexpr milliseconds old_transport_patience{5'000};

}  // namespace

HttpLink::HttpLink(LinkContext& context, std::unique_ptr<HttpClient> client, Options options)
    : context_(context),
      client_(std::move(client)),
      options_(std::move(options)),
      target_(options_.url.target),
      listen_timer_(context.loop) {}

void HttpLink::start(Handler& handler) {
  handler_ = &handler;
  // It is better to know before the first request that a daemon isn't there.
  client_->probe([weak = weak_from_this()](const std::string& trouble) {
    auto self = weak.lock();
    if (self && !trouble.empty()) self->unreachable(trouble);
  });
}

// --- out

void HttpLink::learn_tools(std::vector<Item>& tools) {
  if (!modern()) return;
  mirrored_.learn(tools, [this](const std::string& tool, const std::string& why) {
    log_warn("{}: the tool \"{}\" is left out: {}", options_.peer, tool, why);
  });
}

void HttpLink::send(const Message& message, std::span<const Edit> edits) {
  if (modern()) return send_modern(spliced(message.raw, edits));
  take({.body = std::make_shared<const std::string>(spliced(message.raw, edits)),
        .id = message.kind == Kind::request ? std::string(edited(message.raw, message.id, edits))
                                            : std::string(),
        .cancels = message.known == Method::cancelled && message.request_id
                       ? std::string(edited(message.raw, message.request_id, edits))
                       : std::string(),
        .known = message.known});
}

void HttpLink::send(std::string_view line) {
  if (const auto message = read_message(line)) send(*message, {});
}

// The headers repeat what is actually sent, after all edits: so it is parsed again.
void HttpLink::send_modern(std::string body) {
  const auto message = read_message(body);
  if (!message) return log_warn("{}: a message can't be sent: {}", options_.peer, message.error().reason);
  if (message->is_answer()) return log_debug("{}: a modern server accepts no answers", options_.peer);
  if (message->known == Method::cancelled) {
    // The daemon sees that the request's connection closes; nothing else needs to be sent.
    ++position_;
    return drop_call(std::string(message->text(message->request_id)));
  }
  Outgoing outgoing{.body = {}, .headers = mirrored_.of(*message), .id = {}, .cancels = {}};
  if (message->kind == Kind::request) outgoing.id = message->text(message->id);
  outgoing.known = message->known;
  outgoing.body = std::make_shared<const std::string>(std::move(body));
  take(std::move(outgoing));
}

void HttpLink::take(Outgoing outgoing) {
  outgoing.position = ++position_;
  unwritten_.insert(position_);
  if (ended_ || finishing_ || handler_ == nullptr) return;  // it will never be written
  if (holding_) {
    held_bytes_ += outgoing.body->size();
    held_.push_back(std::move(outgoing));
  } else {
    post(std::move(outgoing));
  }
  was_full_ = was_full_ || full();
}

void HttpLink::post(Outgoing outgoing) {
  if (!outgoing.id.empty()) {
    auto call = std::make_shared<Call>(shared_from_this(), std::move(outgoing));
    calls_[call->id()] = call;
    return call->post();
  }
  if (!outgoing.cancels.empty()) {
    const auto call = calls_.find(outgoing.cancels);
    if (call != calls_.end() && !call->second->begun())
      return drop_call(outgoing.cancels);  // it was never sent
  }
  // What follows the end of the handshake must not overtake it on another connection.
  if (outgoing.known == Method::initialized && !modern()) holding_ = true;
  std::make_shared<Brief>(shared_from_this(), std::move(outgoing))->post();
}

void HttpLink::on_initialized() {
  if (ended_ || modern()) return;
  if (!old_transport()) listen_at(target_);
  release();
}

void HttpLink::release() {
  holding_ = false;
  held_bytes_ = 0;
  for (Outgoing& outgoing : std::exchange(held_, {})) {
    if (ended_) return;
    if (holding_) {
      held_.push_back(std::move(outgoing));
    } else {
      post(std::move(outgoing));
    }
  }
}

// The daemon was told that the answer isn't wanted, so we don't wait for it.
void HttpLink::drop_call(const std::string& id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const auto call = found->second;
  const bool begun = call->begun();
  call->finish();
  client_->cancel(*call);
  if (begun) return;
  // There may be room now for what waited behind it. Through the loop: this is called from within a send.
  boost::asio::post(context_.loop, [self = shared_from_this(), position = call->position()] {
    if (!self->ended_) self->begun(position);
  });
}

const std::string& HttpLink::token() const {
  static const std::string none;
  return options_.authorizer ? options_.authorizer->token() : none;
}

// To our server alone: redirects to others aren't followed.
std::string HttpLink::authorization() const {
  const std::string& now = token();
  return now.empty() ? std::string() : "Authorization: Bearer " + now + "\r\n";
}

HttpRequest HttpLink::request(const Outgoing& outgoing) const {
  static constexpr std::string_view headers =
      "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
  return {.method = "POST",
          .target = old_transport() ? old_target_ : target_,
          .headers = std::string(headers) + authorization() + session_headers_ + outgoing.headers,
          .body = outgoing.body,
          .standing = modern() && outgoing.known == Method::listen};
}

HttpRequest HttpLink::stream_request(const std::string& last_id) const {
  std::string headers =
      "Accept: text/event-stream\r\nCache-Control: no-store\r\n" + authorization() + session_headers_;
  if (!last_id.empty()) headers += "Last-Event-ID: " + last_id + "\r\n";
  return {.method = "GET", .target = target_, .headers = std::move(headers), .body = {}};
}

bool HttpLink::listening() const {
  return listening_ || std::ranges::any_of(calls_, [](const auto& call) { return call.second->listens(); });
}

bool HttpLink::full() const {
  return client_->waiting_bytes() + held_bytes_ > high_water;
}

bool HttpLink::overflows() const {
  return client_->waiting_bytes() + held_bytes_ > overflow;
}

void HttpLink::begun(std::uint64_t position) {
  unwritten_.erase(position);
  if (!was_full_ || client_->waiting_bytes() + held_bytes_ > low_water) return;
  was_full_ = false;
  if (handler_ != nullptr) handler_->on_writable();
}

// --- in

void HttpLink::resume() {
  // Through the loop: this is called from within another link's write.
  boost::asio::post(context_.loop, [self = shared_from_this()] {
    if (!self->ended_) self->client_->resume();
  });
}

std::expected<Message, Refusal> HttpLink::read(char* data, std::size_t size, const BufferRef& buffer) {
  make_one_line({data, size});
  const std::string_view line(data, size);
  auto message = read_message(line);
  if (message) message->buffer = buffer;
  return message;
}

void HttpLink::handle(const Message& message) {
  if (handler_ != nullptr) survive(options_.peer, [&] { handler_->on_message(message); });
}

void HttpLink::deliver_batch(char* data, std::size_t size) {
  make_one_line({data, size});
  if (handler_ != nullptr) survive(options_.peer, [&] { handler_->on_batch({data, size}); });
}

void HttpLink::deliver_own(const std::string& line) {
  if (const auto message = read_message(line)) handle(*message);
}

void HttpLink::deliver_events(SseParser& parser, std::string_view piece) {
  const Cork cork(context_.corks);
  const auto keep = shared_from_this();
  while (!ended_ && handler_ != nullptr) {
    const auto event = parser.next(piece);
    if (!event) return;
    if (!event->type.empty() && event->type != "message") continue;
    if (event->over) {
      handler_->on_oversize(*event->over, options_.limit);
    } else if (is_batch(event->data)) {
      deliver_batch(parser.buffer()->data(), event->data.size());
    } else if (const auto message = read(parser.buffer()->data(), event->data.size(), parser.buffer())) {
      if (old_transport() && version_.empty() && message->kind == Kind::result) agreed(*message);
      handle(*message);
    } else {
      handler_->on_unreadable(event->data, message.error());
    }
  }
}

void HttpLink::opened_session(const HttpHead& head) {
  if (head.session_id.size() <= longest_session_id) session_id_ = head.session_id;
  if (!session_id_.empty()) session_headers_ = "Mcp-Session-Id: " + session_id_ + "\r\n";
}

void HttpLink::agreed(const Message& answer) {
  const std::string_view version = find_member(answer.text(answer.result), "protocolVersion");
  if (!version.starts_with('"') || version.size() > 34) return;
  version_ = string_value(version);
  const bool plain = std::ranges::all_of(version_, [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (plain) session_headers_ += "MCP-Protocol-Version: " + version_ + "\r\n";
}

// --- the daemon's own stream

void HttpLink::listen_at(const std::string& target) {
  if (ended_ || finishing_) return;
  HttpRequest request = stream_request(last_event_id_);
  request.target = target;
  stream_ = std::make_shared<Listener>(shared_from_this(), std::exchange(listened_, true));
  client_->send(std::move(request), stream_);
}

void HttpLink::listen_later(milliseconds delay) {
  if (ended_ || finishing_) return;
  listen_timer_.expires_after(delay);
  listen_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (!error && self) self->listen_at(self->target_);
  });
}

// --- the old transport

void HttpLink::try_old_transport(std::shared_ptr<Call> call) {
  log_debug("{}: it doesn't accept POST; trying the HTTP+SSE transport of 2024-11-05", options_.peer);
  initialize_ = call;
  stream_ = std::make_shared<OldStream>(shared_from_this(), std::move(call));
  HttpRequest request = stream_request({});
  request.patience = old_transport_patience;
  client_->send(std::move(request), stream_);
}

void HttpLink::old_transport_opened(const Url& endpoint) {
  old_target_ = endpoint.target;
  log_info("{}: it speaks the HTTP+SSE transport of 2024-11-05", options_.peer);
  if (auto call = std::exchange(initialize_, nullptr)) call->post();
}

// --- what goes wrong

void HttpLink::lost(const std::string& id, bool reached, std::string_view why) {
  if (handler_ != nullptr) handler_->on_lost(id, reached, why);
}

// A connection broke in the middle of an answer. Is it the connection, or the daemon?
void HttpLink::doubt(const std::shared_ptr<Call>& call, const std::string& why) {
  client_->probe([weak = weak_from_this(), call, why](const std::string& trouble) {
    auto self = weak.lock();
    if (!self || self->ended_ || !self->calls_.contains(call->id())) return;
    if (!trouble.empty()) return self->unreachable(trouble);
    call->finish();
    self->lost(call->id(), true, fmt::format("broke the connection: {}", why));
  });
}

void HttpLink::unreachable(const std::string& why) {
  if (!ended_) unreachable_ = true;
  end(fmt::format("could not be reached at {}: {}", options_.url.origin(), why));
}

void HttpLink::forget_session(std::uint64_t position) {
  if (ended_) return;
  if (position != 0) unwritten_.insert(position);  // it was rejected unprocessed
  forgotten_ = true;
  end("no longer knows our session");
}

void HttpLink::down(std::uint64_t position, const std::string& why) {
  if (ended_) return;
  if (position != 0) unwritten_.insert(position);
  end(why);
}

void HttpLink::end(const std::string& why) {
  if (std::exchange(ended_, true)) return;
  const auto keep = shared_from_this();
  listen_timer_.cancel();
  listening_ = false;
  client_->close();
  calls_.clear();
  held_.clear();
  stream_.reset();
  initialize_.reset();
  if (handler_ != nullptr) handler_->on_end(why);
}

void HttpLink::end_session(milliseconds patience, std::function<void()> done) {
  const auto keep = shared_from_this();
  finishing_ = true;
  listen_timer_.cancel();
  held_.clear();
  for (const auto& [id, call] : std::exchange(calls_, {})) client_->cancel(*call);
  if (stream_) client_->cancel(*stream_);
  if (ended_ || session_id_.empty()) return boost::asio::post(context_.loop, std::move(done));
  HttpRequest request{
      .method = "DELETE", .target = target_, .headers = authorization() + session_headers_, .body = {}};
  request.patience = patience;
  request.brief = true;
  client_->send(std::move(request), std::make_shared<Farewell>(std::move(done)));
}

void HttpLink::close() {
  handler_ = nullptr;
  ended_ = true;
  listen_timer_.cancel();
  client_->close();
  calls_.clear();
  held_.clear();
  stream_.reset();
  initialize_.reset();
}

}  // namespace mcpivot
