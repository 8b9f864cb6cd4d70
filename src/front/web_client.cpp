#include "front/web_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/secret.h"
#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/line_reader.h"

namespace mcpivot {
namespace {

// An answer that takes longer comes in a stream, which shows that work is going on. A legacy stream can be
// resumed, so it begins soon; a modern answer's status depends on its content, so we wait for it.
constexpr std::chrono::milliseconds patience_of(Era era) {
  return std::chrono::milliseconds(era == Era::legacy ? 1'000 : 10'000);
}
// How soon a client whose connection broke reconnects, if it does at all. We ask for half a second.
constexpr std::chrono::milliseconds longest_reconnection{10'000};
// So that no proxy takes a quiet stream for a dead one.
constexpr std::chrono::milliseconds sign_of_life{15'000};

constexpr std::string_view deaf_server = "A server isn't reading its messages. Try again later.";
const std::string json_headers = "Content-Type: application/json\r\n";
const std::string event_headers =
    "Content-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n";

// In the modern era, the HTTP status reflects the answer too.
int status_of(Era era, const Message& answer) {
  if (era == Era::legacy || answer.kind != Kind::error) return 200;
  const std::string_view error = find_member(answer.text(answer.error), "code");
  if (error == "-32601") return 404;
  if (error == "-32020" || error == "-32021" || error == "-32022") return 400;
  return 200;
}

}  // namespace

WebClient::WebClient(HttpServer& server, Timers& timers, Clients& clients, EventRoom& events, Desk& desk,
                     Era era, Owner& owner)
    : server_(server),
      timers_(timers),
      desk_(desk),
      era_(era),
      owner_(owner),
      events_(random_text(), events),
      keep_alive_(timers),
      began_(timers.now()),
      last_used_(began_),
      room_(timers),
      session_(*this, clients, desk) {}

WebClient::~WebClient() {
  close(503);
}

bool WebClient::waits() const {
  return listener_ != ReplyId::none || std::ranges::any_of(exchanges_, [](const auto& entry) {
           return entry.second->reply != ReplyId::none;
         });
}

std::size_t WebClient::calls() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(exchanges_, [](const auto& entry) { return entry.second->call; }));
}

std::size_t WebClient::streams() const {
  const auto open = std::ranges::count_if(exchanges_, [](const auto& entry) {
    return entry.second->streams && entry.second->reply != ReplyId::none;
  });
  return static_cast<std::size_t>(open) + (listener_ == ReplyId::none ? 0 : 1);
}

bool WebClient::owes_answers() const {
  return std::ranges::any_of(exchanges_, [](const auto& entry) {
    const Exchange& exchange = *entry.second;
    return exchange.call || (!exchange.listens && exchange.reply != ReplyId::none);
  });
}

std::size_t WebClient::under_way() const {
  std::size_t requests = 0;
  for (const auto& [number, exchange] : exchanges_) requests += static_cast<std::size_t>(exchange->expected);
  return requests;
}

// --- what the client says ----------------------------------------------------------------------------------

void WebClient::post(ReplyId reply, std::string body, std::string headers) {
  last_used_ = timers_.now();
  make_one_line(body);
  if (is_batch(body)) return post_batch(reply, body, std::move(headers));
  const auto message = read_message(body);
  if (!message) return refuse(reply, message.error(), headers);
  if (message->kind != Kind::request) {
    // Answers are accepted: there can't be more of them than questions.
    if (message->kind == Kind::notification && desk_.overflows())
      return turn_away(reply, deaf_server, headers);
    session_.take(0, *message);
    return respond(reply, {.status = 202, .headers = std::move(headers)});
  }
  if (const auto why = why_not(1, body.size()); !why.empty()) return turn_away(reply, why, headers);
  const std::uint32_t number = open(reply, body.size(), std::move(headers));
  Exchange& exchange = *exchanges_.at(number);
  exchange.id = message->text(message->id);
  exchange.initializes = message->known == Method::initialize;
  // Its answer has the session's id in a header, so the headers can't be sent before the answer.
  if (exchange.initializes) exchange.patience.cancel();
  exchange.call = message->known == Method::tools_call || message->known == Method::prompts_get ||
                  message->known == Method::resources_read;
  if (exchange.call) ++calls_made_;
  exchange.listens = message->known == Method::listen;
  exchange.logs =
      !exchange.listens && !find_member(message->text(message->meta), meta_key::log_level).empty();
  session_.take(number, *message);
}

std::string_view WebClient::why_not(std::size_t requests, std::size_t bytes) const {
  if (desk_.overflows()) return deaf_server;
  if (exchanges_.empty()) return {};
  for (const auto& [number, exchange] : exchanges_) bytes += exchange->bytes;
  if (bytes > most_bytes || under_way() + requests > most_requests)
    return "This client has too much in flight.";
  return {};
}

// For now: the client may retry.
void WebClient::turn_away(ReplyId reply, std::string_view why, const std::string& headers) {
  HttpAnswer answer = plain_answer(503, why);
  answer.headers += "Retry-After: 1\r\n" + headers;
  respond(reply, std::move(answer));
}

void WebClient::refuse(ReplyId reply, const Refusal& refusal, const std::string& headers) {
  respond(reply, {.status = 400,
                  .headers = json_headers + headers,
                  .body = error_answer(refusal.id, refusal.code, refusal.reason)});
}

void WebClient::post_batch(ReplyId reply, std::string_view body, std::string headers) {
  const auto elements =
      batches_ ? read_batch(body)
               : std::unexpected(Refusal{Refusal::not_a_message,
                                         "only protocol version 2025-03-26 has batches; send the messages "
                                         "one by one",
                                         {}});
  if (!elements) return refuse(reply, elements.error(), headers);
  if (elements->size() > most_requests)
    return refuse(reply,
                  {Refusal::not_a_message, fmt::format("a batch has at most {} messages", most_requests), {}},
                  headers);
  if (const auto why = why_not(elements->size(), body.size()); !why.empty())
    return turn_away(reply, why, headers);
  const std::uint32_t number = open(reply, body.size(), std::move(headers));
  exchanges_.at(number)->batch = true;  // one more is expected, for ourselves, until all of it has been sent
  for (const std::string_view element : *elements) {
    const auto message = read_message(element);
    if (!message || message->kind == Kind::request) ++exchanges_.at(number)->expected;
    if (message) {
      if (message->known == Method::tools_call) {
        exchanges_.at(number)->call = true;
        ++calls_made_;
      }
      session_.take(number, *message);
    } else {
      session_.refuse(number, element, message.error());
    }
  }
  settle_one(number, {});
}

std::uint32_t WebClient::open(ReplyId reply, std::size_t bytes, std::string headers) {
  const std::uint32_t number = ++last_exchange_;
  auto exchange = std::make_unique<Exchange>(timers_);
  exchange->reply = reply;
  exchange->bytes = bytes;
  exchange->headers = std::move(headers);
  exchange->patience.set(patience_of(era_), [this, number] {
    if (const auto found = exchanges_.find(number); found != exchanges_.end())
      begin_stream(number, *found->second);
  });
  exchanges_.emplace(number, std::move(exchange));
  by_reply_.emplace(reply, number);
  return number;
}

void WebClient::listen(ReplyId reply, std::string_view last_event, const std::string& headers) {
  last_used_ = timers_.now();
  const auto place = events_.read_id(last_event);
  if (place && place->stream != 0) return resume_stream(reply, *place, headers);
  begin_events(reply, headers);
  // The previous one may be open only on our side: a client has just one.
  if (listener_ != ReplyId::none) end(listener_);
  listener_ = reply;
  if (primes_ && !place) write(reply, events_.prime(0));
  if (place && place->ours)
    for (std::string& text : events_.after(*place)) write(reply, std::move(text));
  for (std::string& text : events_.unsent(0)) write(reply, std::move(text));
}

// A stream that is over, or is from an earlier life of the session, has nothing more to send: 204 tells the
// client not to reconnect.
void WebClient::resume_stream(ReplyId reply, EventLog::Place place, const std::string& headers) {
  const auto found = place.ours ? exchanges_.find(place.stream) : exchanges_.end();
  const bool goes_on = found != exchanges_.end() && !found->second->initializes;
  if (goes_on) begin_stream(place.stream, *found->second);
  auto missed = place.ours ? events_.after(place) : std::vector<std::string>();
  if (missed.empty() && !goes_on) return respond(reply, {.status = 204, .headers = headers});
  begin_events(reply, headers);
  for (std::string& text : missed) write(reply, std::move(text));
  if (!goes_on) return end(reply);
  Exchange& exchange = *found->second;
  if (exchange.reply != ReplyId::none) {
    by_reply_.erase(exchange.reply);
    end(exchange.reply);
  }
  exchange.reply = reply;
  by_reply_.emplace(reply, place.stream);
}

void WebClient::gone(ReplyId reply) {
  last_used_ = timers_.now();
  drained(reply);
  if (reply == listener_) {
    listener_ = ReplyId::none;
    return;
  }
  const auto found = by_reply_.find(reply);
  if (found == by_reply_.end()) return;
  const std::uint32_t number = found->second;
  by_reply_.erase(found);
  Exchange& exchange = *exchanges_.at(number);
  exchange.reply = ReplyId::none;
  exchange.left = timers_.now();
  if (era_ == Era::modern) {
    const std::string id = exchange.id;
    exchanges_.erase(number);
    session_.abandon(number, id);
  }
}

void WebClient::drained(ReplyId reply) {
  if (full_.erase(reply) == 0 || !full_.empty()) return;
  room_.set(std::chrono::milliseconds(0), [this] {
    if (!full()) desk_.clients_writable();
  });
}

// --- what it is told ---------------------------------------------------------------------------------------

void WebClient::answer(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) {
  settle(exchange, message, spliced(message.raw, edits));
}

void WebClient::answer(std::uint32_t exchange, std::string_view line) {
  const auto message = read_message(line);
  if (message) settle(exchange, *message, std::string(line));
}

void WebClient::settle(std::uint32_t number, const Message& message, std::string text) {
  const auto found = exchanges_.find(number);
  if (found == exchanges_.end()) return;
  Exchange& exchange = *found->second;
  if (exchange.batch || exchange.streams || exchange.reply == ReplyId::none)
    return settle_one(number, std::move(text));
  HttpAnswer answer{.status = status_of(era_, message), .headers = json_headers + exchange.headers};
  answer.body = std::move(text);
  if (exchange.initializes && message.kind == Kind::result) {
    const auto headers = owner_.on_opened(*this);
    if (!headers) {
      exchange.held = std::move(answer);
      return;
    }
    answer.headers += *headers;
  }
  const ReplyId reply = exchange.reply;
  finish(number);
  respond(reply, std::move(answer));
}

void WebClient::opened(const std::string& headers) {
  let_go([&](HttpAnswer& answer) { answer.headers += headers; });
}

void WebClient::not_opened(HttpAnswer instead) {
  let_go([&](HttpAnswer& answer) { answer = std::move(instead); });
}

// Releases the answer that is held back.
void WebClient::let_go(const std::function<void(HttpAnswer&)>& change) {
  const auto found =
      std::ranges::find_if(exchanges_, [](const auto& entry) { return entry.second->held.has_value(); });
  if (found == exchanges_.end()) return;
  HttpAnswer answer = std::move(*found->second->held);
  change(answer);
  const ReplyId reply = found->second->reply;
  finish(found->first);
  if (reply != ReplyId::none) respond(reply, std::move(answer));
}

// One of the expected answers has come, or won't come. Empty: it has no text.
void WebClient::settle_one(std::uint32_t number, std::string text) {
  const auto found = exchanges_.find(number);
  if (found == exchanges_.end()) return;
  Exchange& exchange = *found->second;
  const bool collects = exchange.batch && !exchange.streams && exchange.reply != ReplyId::none;
  if (!text.empty() && collects) {
    exchange.answers += exchange.answers.empty() ? '[' : ',';
    exchange.answers += text;
  } else if (!text.empty()) {
    say(number, text);
  }
  if (--exchange.expected > 0) return;
  const ReplyId reply = exchange.reply;
  const bool streams = exchange.streams;
  const std::string answers = std::move(exchange.answers);
  const std::string headers = std::move(exchange.headers);
  finish(number);
  if (reply == ReplyId::none) return;
  if (streams) return end(reply);
  if (answers.empty()) return respond(reply, {.status = 202, .headers = headers});
  respond(reply, {.status = 200, .headers = json_headers + headers, .body = answers + "]"});
}

void WebClient::withdrawn(std::uint32_t exchange) {
  settle_one(exchange, {});
}

void WebClient::respond(ReplyId reply, HttpAnswer answer) {
  owner_.on_done(reply);
  server_.respond(reply, std::move(answer));
}

void WebClient::end(ReplyId reply) {
  owner_.on_done(reply);
  server_.end(reply);
  drained(reply);
}

void WebClient::finish(std::uint32_t number) {
  const auto found = exchanges_.find(number);
  by_reply_.erase(found->second->reply);
  exchanges_.erase(found);
  last_used_ = timers_.now();
}

void WebClient::tell(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) {
  if (exchange == 0 && message.known == Method::log_message)
    exchange = era_ == Era::modern ? only_one_with_logs() : likely_call();
  tell(exchange, spliced(message.raw, edits));
}

void WebClient::tell(std::uint32_t exchange, std::string_view line) {
  if (exchange != 0 && !exchanges_.contains(exchange)) return;  // progress that came after the answer
  if (exchange != 0 && exchanges_.at(exchange)->initializes) exchange = 0;
  if (exchange == 0 && era_ == Era::modern) return;  // there is no stream for it
  say(exchange, line);
}

void WebClient::ask(const Message& request, std::span<const Edit> edits) {
  say(likely_call(), spliced(request.raw, edits));
}

std::uint32_t WebClient::likely_call() const {
  std::uint32_t latest = 0;
  bool latest_connected = false;
  int calls = 0;
  for (const auto& [number, exchange] : exchanges_) {
    const bool connected = exchange->reply != ReplyId::none;
    if (!exchange->call || (!connected && !comes_back(*exchange))) continue;
    if (connected || !latest_connected) latest = number;
    latest_connected = latest_connected || connected;
    ++calls;
  }
  return calls <= 1 || listener_ == ReplyId::none ? latest : 0;
}

// By the specification, a broken connection ends neither the stream nor the call; and what belongs
// to a call shouldn't go to the session's own stream. But we don't wait for a client that stays
// away.
bool WebClient::comes_back(const Exchange& exchange) const {
  return exchange.streams && exchange.named && timers_.now() - exchange.left < longest_reconnection;
}

std::uint32_t WebClient::only_one_with_logs() const {
  std::uint32_t only = 0;
  for (const auto& [number, exchange] : exchanges_) {
    if (!exchange->logs) continue;
    if (only != 0) return 0;
    only = number;
  }
  return only;
}

void WebClient::agreed_version(std::string_view version) {
  version_ = version;
  batches_ = version == R"("2025-03-26")";
  primes_ = version == R"("2025-11-25")";
}

// --- streams -----------------------------------------------------------------------------------------------

void WebClient::say(std::uint32_t number, std::string_view text) {
  if (const auto found = exchanges_.find(number); found != exchanges_.end() && found->second->initializes)
    number = 0;
  ReplyId reply = listener_;
  if (number != 0) {
    Exchange& exchange = *exchanges_.at(number);
    begin_stream(number, exchange);
    reply = exchange.reply;
  }
  if (era_ == Era::modern) return write(reply, event_text({}, text));
  const bool sent = reply != ReplyId::none;
  if (sent && number != 0) exchanges_.at(number)->named = true;
  std::string event = events_.add(number, text, sent);
  if (sent) write(reply, std::move(event));
}

void WebClient::begin_stream(std::uint32_t number, Exchange& exchange) {
  if (std::exchange(exchange.streams, true)) return;
  exchange.patience.cancel();
  if (exchange.reply == ReplyId::none) return;
  begin_events(exchange.reply, exchange.headers);
  if (primes_) write(exchange.reply, events_.prime(number));
  exchange.named = primes_;
  // The collected answers of a batch are sent as they are.
  if (exchange.answers.empty()) return;
  exchange.named = true;
  write(exchange.reply, events_.add(number, std::exchange(exchange.answers, {}) + "]", true));
}

void WebClient::begin_events(ReplyId reply, const std::string& headers) {
  server_.begin_stream(reply, 200, event_headers + headers);
  keep_alive();
}

void WebClient::write(ReplyId reply, std::string text) {
  if (reply == ReplyId::none) return;
  server_.write(reply, std::move(text));
  if (server_.full(reply)) full_.insert(reply);
}

void WebClient::keep_alive() {
  if (std::exchange(beats_, true)) return;
  keep_alive_.set(sign_of_life, [this] {
    beats_ = false;
    bool any = listener_ != ReplyId::none;
    if (any) server_.write(listener_, ":\n\n");
    for (const auto& [number, exchange] : exchanges_) {
      if (!exchange->streams || exchange->reply == ReplyId::none) continue;
      any = true;
      server_.write(exchange->reply, ":\n\n");
    }
    if (any) keep_alive();
  });
}

void WebClient::close(int status) {
  if (listener_ != ReplyId::none) end(std::exchange(listener_, ReplyId::none));
  for (const auto& [number, exchange] : std::exchange(exchanges_, {})) {
    if (exchange->reply == ReplyId::none) continue;
    if (exchange->streams) {
      if (!exchange->id.empty())
        write(exchange->reply,
              event_text({}, error_answer(exchange->id, code::connection_closed, "the session has ended")));
      end(exchange->reply);
    } else {
      respond(exchange->reply, plain_answer(status, "The session has ended."));
    }
  }
  by_reply_.clear();
}

}  // namespace mcpivot
