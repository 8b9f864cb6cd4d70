#include "front/http_gate.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <utility>

#include "base/secret.h"
#include "base/text.h"
#include "base/utf8.h"
#include "front/request_headers.h"
#include "log/log.h"
#include "mcp/era.h"
#include "mcp/initialize.h"
#include "mcp/request_meta.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{100};   // for a server whose client is gone
constexpr milliseconds save_pace{100};  // for saving sessions' settings
// A client that disconnected during a call may come back for its answer, but not forever.
constexpr milliseconds longest_absence{std::chrono::hours(1)};
// How long a call that began with a valid token may continue after the token has expired.
constexpr std::chrono::seconds call_grace{std::chrono::minutes(10)};
constexpr std::size_t many = 256;  // clients: worth returning their memory to the system
constexpr std::string_view json_type = "Content-Type: application/json\r\n";
std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

HttpGate::HttpGate(World& world, Clients& clients, Gateway& gateway, SessionStore& store, Admission admission,
                   SessionSeal seal, Settings settings)
    : world_(world),
      clients_(clients),
      gateway_(gateway),
      store_(store),
      admission_(std::move(admission)),
      seal_(std::move(seal)),
      settings_(settings),
      expiry_(world.timers()),
      save_(world.timers()),
      idle_(world.timers()),
      drain_(world.timers()) {
  end_idle();
}

HttpGate::~HttpGate() = default;

// --- requests ----------------------------------------------------------------------------------------------

void HttpGate::answer(const Visit& visit, HttpAnswer answer) {
  answer.headers += visit.headers;
  server_->respond(visit.reply, std::move(answer));
}

void HttpGate::refuse(const Visit& visit, int status, std::string_view id, int code, std::string_view words) {
  answer(visit, {.status = status, .headers = std::string(json_type), .body = error_answer(id, code, words)});
}

void HttpGate::post(Visit visit, const HttpAsk& ask, std::string body) {
  const bool batch = is_batch(body);
  const auto message = read_message(body);
  log_info("http: {} from {}",
           batch                  ? "batch"
           : !message             ? "something that isn't a message"
           : message->is_answer() ? "answer"
                                  : shown_text(string_value(message->text(message->method))),
           sender(ask, visit.who));
  if (!batch && !message)
    return refuse(visit, 400, message.error().id, message.error().code, message.error().reason);
  // Answers are still accepted: a call in flight may wait for one.
  if (draining_ && (batch || message->kind == Kind::request))
    return answer(visit, busy_answer("mcpivot is shutting down."));
  const std::string version(ask.header("MCP-Protocol-Version"));
  const bool modern = !batch && (message->version || fmt::format("\"{}\"", version) == modern_version ||
                                 message->known == Method::discover || message->known == Method::listen);
  if (modern) return post_modern(visit, ask, *message, std::move(body));
  if (!version.empty() && !is_protocol_version(version))
    return refuse(visit, 400, batch ? "" : message->text(message->id), code::invalid_request,
                  "Unsupported MCP-Protocol-Version; supported: " + all_versions());
  const Asks asks = batch || (message->kind == Kind::request && message->known != Method::ping)
                        ? Asks::something
                        : Asks::nothing;
  const bool begins = !batch && message->kind == Kind::request && message->known == Method::initialize &&
                      visit.session.empty();
  if (!begins)
    return in_session(std::move(visit),
                      [this, body = std::move(body), asks](Life& life, const Visit& in) mutable {
                        hand_over(life, in, std::move(body), asks);
                      });
  if (lives_.size() >= settings_.most_clients)
    return answer(visit, busy_answer("There are too many sessions."));
  Life& life = open(visit, Era::legacy, random_text());
  hand_over(life, visit, std::move(body), asks);
  // It was refused, and no client will ever know its id.
  if (!life.has_id() && !life.client->waits()) end(life.client->id());
}

void HttpGate::post_modern(const Visit& visit, const HttpAsk& ask, const Message& message, std::string body) {
  const std::string_view id = message.text(message.id);
  if (message.kind == Kind::notification) return answer(visit, {.status = 202});
  if (message.kind != Kind::request)
    return refuse(visit, 400, {}, code::invalid_request,
                  "In protocol version 2026-07-28 clients don't send answers; send inputResponses.");
  if (const std::string fault = fault_in_headers(ask, message); !fault.empty())
    return refuse(visit, 400, id, code::header_mismatch, fault);
  if (const std::string fault = fault_in_meta(message); !fault.empty())
    return answer(visit, {.status = 400, .headers = std::string(json_type), .body = fault});
  const Modern key{visit.who.principal, visit.profile};
  const auto found = modern_.find(key);
  if (found == modern_.end() && lives_.size() >= settings_.most_clients)
    return answer(visit, busy_answer("There are too many clients."));
  Life& life = found == modern_.end() ? open(visit, Era::modern, {}) : lives_.at(found->second);
  if (found == modern_.end()) modern_.emplace(key, life.client->id());
  if (message.known == Method::tools_call) {
    const std::string_view tool = life.client->desk().tool(string_value(message.text(message.name)));
    if (const std::string fault = fault_in_arguments(ask, message, tool); !fault.empty())
      return refuse(visit, 400, id, code::header_mismatch, fault);
  }
  hand_over(life, visit, std::move(body),
            message.known == Method::discover ? Asks::nothing
            : message.known == Method::listen ? Asks::to_listen
                                              : Asks::something);
}

bool HttpGate::has_room_for(const Life& life) {
  if (life.client->desk().own_servers().resting == 0) return true;
  std::size_t working = 0;
  std::vector<WebClient*> idle;
  for (const auto& [id, other] : lives_) {
    const std::size_t own = other.client->desk().own_servers().working;
    working += own;
    if (own > 0 && &other != &life && other.client->calls() == 0) idle.push_back(other.client.get());
  }
  if (working < settings_.most_instances) return true;
  std::ranges::sort(idle, {}, &WebClient::last_used);
  return std::ranges::any_of(
      idle, [](WebClient* one) { return one->desk().rest("to make room for another client"); });
}

void HttpGate::hand_over(Life& life, const Visit& visit, std::string body, Asks asks) {
  if (life.client->crowded())
    return answer(visit, busy_answer("This client has too many requests in flight."));
  if (asks != Asks::nothing && !has_room_for(life))
    return answer(visit,
                  busy_answer("The limit of running servers (--max-instances) is reached, and all of them "
                              "are busy. Try again later."));
  put_under(visit.reply, life, visit.who, asks == Asks::to_listen ? std::chrono::seconds(0) : call_grace);
  life.client->post(visit.reply, std::move(body), visit.headers);
}

void HttpGate::listen(Visit visit, const HttpAsk& ask) {
  if (draining_) return answer(visit, busy_answer("mcpivot is shutting down."));
  if (visit.session.empty()) {
    HttpAnswer no_stream = plain_answer(405, "Only sessions have a stream.");
    no_stream.headers += "Allow: POST, OPTIONS\r\n";
    return answer(visit, std::move(no_stream));
  }
  if (!accepts(ask.header("Accept"), "text/event-stream"))
    return answer(visit, plain_answer(406, "Accept must list text/event-stream."));
  in_session(std::move(visit),
             [this, last_event = std::string(ask.header("Last-Event-ID"))](Life& life, const Visit& in) {
               if (!server_->knows(in.reply)) return;  // it disconnected while the session was restored
               put_under(in.reply, life, in.who, std::chrono::seconds(0));
               life.client->listen(in.reply, last_event, in.headers);
             });
}

void HttpGate::end_by(Visit visit) {
  if (visit.session.empty()) {
    HttpAnswer no_session = plain_answer(405, "Only a session can be ended.");
    no_session.headers += "Allow: POST, OPTIONS\r\n";
    return answer(visit, std::move(no_session));
  }
  const auto ticket = ticket_of(visit);
  if (!ticket) return;
  revoke(ticket->uid, [this, visit](bool) { answer(visit, {.status = 204}); });
}

void HttpGate::revoke(const std::string& uid, SessionStore::Done done) {
  if (const auto live = sessions_.find(uid); live != sessions_.end()) end(live->second);
  store_.revoke(uid, now() + settings_.session_life, std::move(done));
}

// --- sessions ----------------------------------------------------------------------------------------------

// Nothing: the request has been answered.
std::optional<SessionTicket> HttpGate::ticket_of(const Visit& visit) {
  if (visit.session.empty()) {
    refuse(visit, 400, {}, code::invalid_request, "Mcp-Session-Id is missing: send `initialize` first.");
    return std::nullopt;
  }
  const auto ticket = seal_.open(visit.session, now());
  // To anybody but its owner, it doesn't exist.
  if (ticket && ticket->principal == visit.who.principal && ticket->profile == visit.profile &&
      !store_.revoked(ticket->uid))
    return *ticket;
  no_session(visit);
  return std::nullopt;
}

void HttpGate::no_session(const Visit& visit) {
  refuse(visit, 404, {}, code::invalid_request, "There is no such session. Send `initialize` to start one.");
}

void HttpGate::in_session(Visit visit, Do then) {
  const auto ticket = ticket_of(visit);
  if (!ticket) return;
  if (const auto live = sessions_.find(ticket->uid); live != sessions_.end())
    return then(lives_.at(live->second), visit);
  const ReplyId reply = visit.reply;
  looked_up_.emplace(reply, false);
  store_.get(ticket->uid, [this, visit = std::move(visit), ticket = *ticket,
                           then = std::move(then)](const std::optional<SessionRecord>& record) mutable {
    const auto looked_up = looked_up_.extract(visit.reply);
    // In the meantime, the session may have been restored or ended, or the token may be gone.
    if (!visit.who.token.empty() && !admission_.has_token(visit.who.token)) return no_session(visit);
    if (!ticket_of(visit)) return;
    const auto live = sessions_.find(ticket.uid);
    Life* const life = live != sessions_.end() ? &lives_.at(live->second) : restore(visit, ticket, record);
    if (life == nullptr) return;
    then(*life, visit);
    if (looked_up && looked_up.mapped()) on_gone(visit.reply);
  });
}

HttpGate::Life& HttpGate::open(const Visit& visit, Era era, std::string uid) {
  Desk& desk = gateway_.open(visit.profile);
  Life& life = seat(visit, desk, era, std::move(uid));
  desk.start();
  log_info("http: client {} connected{}{}", static_cast<std::uint64_t>(desk.client()),
           visit.who.principal.empty() ? "" : ": ", visit.who.principal);
  return life;
}

HttpGate::Life& HttpGate::seat(const Visit& visit, Desk& desk, Era era, std::string uid) {
  Life& life = lives_[desk.client()];
  life.who = visit.who;
  life.profile = visit.profile;
  life.uid = std::move(uid);
  WebClient::Owner& owner = *this;
  life.client = std::make_unique<WebClient>(*server_, world_.timers(), clients_, events_, desk, era, owner);
  if (!life.uid.empty()) sessions_.emplace(life.uid, desk.client());
  return life;
}

// We issued its id; since then, mcpivot was restarted, or the session was idle. Null: it has been answered.
HttpGate::Life* HttpGate::restore(const Visit& visit, const SessionTicket& ticket,
                                  const std::optional<SessionRecord>& record) {
  if (draining_ || lives_.size() >= settings_.most_clients) {
    answer(visit, busy_answer(draining_ ? "mcpivot is shutting down." : "There are too many sessions."));
    return nullptr;
  }
  ClientState state;
  bool known = false;
  if (record) {
    if (auto kept = client_state_from(record->state)) {
      state = std::move(*kept);
      known = true;
    }
    if (state.hello.empty()) state.hello = record->hello;
  }
  if (state.hello.empty()) state.hello = ticket.hello;
  if (state.hello.empty()) {  // it was too long for the id, and isn't in the store
    no_session(visit);
    return nullptr;
  }
  Desk& desk = gateway_.open(visit.profile);
  desk.restore(state);
  desk.add_notice(
      fmt::format("[mcpivot] this session was resumed after a restart of mcpivot or a long idle time. "
                  "Its servers were restarted: anything they held in memory is gone.{}",
                  known ? "" : " The session's log level, subscriptions and activations are gone too."));
  Life& life = seat(visit, desk, Era::legacy, ticket.uid);
  life.expires = ticket.expires;
  life.client->set_version(fmt::format("\"{}\"", ticket.version));
  desk.start();
  log_info("http: client {} is back{}{}", static_cast<std::uint64_t>(desk.client()),
           visit.who.principal.empty() ? "" : ": ", visit.who.principal);
  return &life;
}

std::optional<std::string> HttpGate::on_opened(WebClient& client) {
  const auto found = lives_.find(client.id());
  if (found == lives_.end() || found->second.uid.empty()) return "";
  Life& life = found->second;
  const auto expires = now() + settings_.session_life;
  const std::string hello = client.desk().state().hello;
  const SessionTicket ticket{
      .uid = life.uid,
      .principal = life.who.principal,
      .profile = life.profile,
      .version = string_value(client.version().empty() ? agreed_version(hello) : client.version()),
      .hello = hello,
      .issued = now(),
      .expires = expires};
  const std::string id = seal_.seal(ticket);
  std::string headers = id.empty() ? std::string() : fmt::format("Mcp-Session-Id: {}\r\n", id);
  const auto sealed = seal_.open(id, now());
  if (sealed && !sealed->hello_inside) {
    open_when_saved(life, expires, std::move(headers));
    return std::nullopt;
  }
  life.expires = expires;
  save(life);
  return headers;
}

// The handshake is too long for the id. An id that couldn't be resumed after our end must not be given out.
void HttpGate::open_when_saved(Life& life, std::chrono::sys_seconds expires, std::string headers) {
  const ClientId client = life.client->id();
  const bool is_new = !life.has_id();  // otherwise it repeats its handshake
  store_.put(record_of(life, expires), [this, client, is_new, uid = life.uid, expires,
                                        headers = std::move(headers)](bool kept) {
    const auto found = lives_.find(client);
    if (kept && found != lives_.end()) {
      found->second.expires = expires;
      return found->second.client->opened(headers);
    }
    if (is_new) store_.revoke(uid, expires);  // no client will ever have its id
    if (found == lives_.end()) return;
    constexpr std::string_view why =
        "the handshake is too long for a session id, and could not be written to the session store";
    log_warn("http: client {} was rejected: {}", static_cast<std::uint64_t>(client), why);
    found->second.client->not_opened(busy_answer(fmt::format("No session: {}.", why)));
    if (is_new) end(client);
  });
}

// What a request changes is known when it has been answered; several changes are saved at once.
void HttpGate::save_soon(ClientId client) {
  if (!to_save_.insert(client).second || to_save_.size() > 1) return;
  save_.set(save_pace, [this] {
    for (const ClientId id : std::exchange(to_save_, {}))
      if (const auto found = lives_.find(id); found != lives_.end()) save(found->second);
  });
}

void HttpGate::save(Life& life) {
  if (life.uid.empty() || !life.has_id()) return;
  SessionRecord record = record_of(life, life.expires);
  const std::size_t hash = std::hash<std::string>()(record.state);
  if (std::exchange(life.saved, hash) == hash) return;
  store_.put(std::move(record));
}

SessionRecord HttpGate::record_of(Life& life, std::chrono::sys_seconds expires) const {
  const ClientState state = life.client->desk().state();
  const auto idle = world_.timers().now() - life.client->last_used();
  return {.uid = life.uid,
          .principal = life.who.principal,
          .profile = life.profile,
          .hello = state.hello,
          .state = to_json(state),
          .updated = now() - std::chrono::floor<std::chrono::seconds>(idle),
          .expires = expires};
}

void HttpGate::end(ClientId client) {
  const auto found = lives_.find(client);
  if (found == lives_.end()) return;
  // Including when it was last used, for `mcpivot sessions`.
  if (!found->second.uid.empty() && found->second.has_id())
    store_.put(record_of(found->second, found->second.expires));
  Life life = std::move(found->second);
  lives_.erase(found);
  sessions_.erase(life.uid);
  std::erase_if(modern_, [&](const auto& entry) { return entry.second == client; });
  life.client.reset();
  gateway_.close(client, patience);
  log_info("http: client {} is gone", static_cast<std::uint64_t>(client));
}

void HttpGate::end_idle() {
  idle_.set(std::max(settings_.session_idle / 4, milliseconds(50)), [this] {
    const auto since = world_.timers().now() - settings_.session_idle;
    const auto long_since = world_.timers().now() - std::max(settings_.session_idle, longest_absence);
    std::vector<ReplyId> ungranted;
    for (const auto& [reply, under] : by_reply_)
      if (const auto life = lives_.find(under.client);
          life != lives_.end() && !is_granted(under.who, life->second.profile))
        ungranted.push_back(reply);
    for (const ReplyId reply : ungranted) cut(reply);
    std::vector<ClientId> idle;
    for (const auto& [id, life] : lives_)
      if (!gateway_.has_profile(life.profile) ||
          (!life.client->waits() &&
           life.client->last_used() < (life.client->abandoned() ? long_since : since)))
        idle.push_back(id);
    for (const ClientId id : idle) end(id);
    std::size_t freed = idle.size();
    const auto lately = world_.timers().now() - settings_.session_idle / 4;
    for (const auto& [id, life] : lives_) {
      if (life.client->calls() > 0 || life.client->last_used() >= lately) continue;
      // A client that only listens keeps its stream, but no servers.
      if (life.client->last_used() < since) life.client->desk().rest("because it was idle for a long time");
      if (life.client->desk().forget_names()) ++freed;
    }
    freed_ += freed;
    // Otherwise, most of the memory that many clients used would never be returned to the system.
    if (freed == 0 && freed_ >= many) {
      freed_ = 0;
      ::malloc_trim(0);
    }
    store_.tidy(now());
    end_idle();
  });
}

void HttpGate::on_done(ReplyId reply) {
  if (const auto client = take_from_under(reply)) save_soon(*client);
}

// --- the ends of requests ----------------------------------------------------------------------------------

void HttpGate::on_gone(ReplyId reply) {
  if (const auto looked_up = looked_up_.find(reply); looked_up != looked_up_.end()) looked_up->second = true;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.reply != reply) return false;
    waiting_bytes_ -= waiting.bytes;
    return true;
  });
  const auto client = take_from_under(reply);
  const auto life = client ? lives_.find(*client) : lives_.end();
  if (life == lives_.end()) return;
  life->second.client->gone(reply);
  // If a handshake had no answer, no client knows the session's id.
  if (!life->second.uid.empty() && !life->second.has_id()) end(life->first);
}

void HttpGate::on_drained(ReplyId reply) {
  const auto found = by_reply_.find(reply);
  if (found == by_reply_.end()) return;
  const auto life = lives_.find(found->second.client);
  if (life != lives_.end()) life->second.client->drained(reply);
}

void HttpGate::drain(milliseconds time, std::function<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  waiting_bytes_ = 0;
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    HttpAnswer sorry = busy_answer("mcpivot is shutting down.");
    sorry.headers += admission_.page_headers(waiting.ask);
    server_->respond(waiting.reply, std::move(sorry));
  }
  const auto until = world_.timers().now() + time;
  struct Look {
    HttpGate& gate;
    Clock::Time until;
    void operator()() const {
      const bool owed = std::ranges::any_of(
          gate.lives_, [](const auto& entry) { return entry.second.client->owes_answers(); });
      if (owed && gate.world_.timers().now() < until) return gate.drain_.set(milliseconds(20), *this);
      if (gate.drained_) std::exchange(gate.drained_, {})();
    }
  };
  Look{*this, until}();
}

// Do this while the server still exists, so that everybody gets an answer.
void HttpGate::close() {
  draining_ = true;
  for (auto& [id, life] : lives_) save(life);
  sessions_.clear();
  modern_.clear();
  lives_.clear();
}

}  // namespace mcpivot
