#include "front/http_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/secret.h"
#include "base/text.h"
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

constexpr milliseconds patience{100};  // for a server whose client has gone
constexpr std::string_view json_type = "Content-Type: application/json\r\n";
constexpr std::string_view endpoint = "/mcp";

std::string_view path_of(const HttpAsk& ask) {
  return std::string_view(ask.target).substr(0, ask.target.find('?'));
}

// "/mcp" → "", "/mcp/work" → "work"; nothing: it is another path.
std::optional<std::string> profile_in(std::string_view path) {
  if (path == endpoint) return std::string();
  if (!path.starts_with(endpoint) || path[endpoint.size()] != '/') return std::nullopt;
  path.remove_prefix(endpoint.size() + 1);
  return std::string(path);
}

std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

bool lists(std::string_view accepted, std::string_view type) {
  const std::string all = lower(accepted);
  return all.empty() || all.find(type) != std::string::npos || all.find("*/*") != std::string::npos;
}

HttpAnswer busy(std::string_view words) {
  HttpAnswer answer = plain_answer(503, words);
  answer.headers += "Retry-After: 1\r\n";
  return answer;
}

}  // namespace

HttpGate::HttpGate(World& world, Clients& clients, Gateway& gateway, Admission admission, SessionSeal seal,
                   Settings settings)
    : world_(world),
      clients_(clients),
      gateway_(gateway),
      admission_(std::move(admission)),
      seal_(std::move(seal)),
      settings_(settings),
      idle_(world.timers()),
      drain_(world.timers()) {
  end_idle();
}

HttpGate::~HttpGate() = default;

// --- the head of a request ---------------------------------------------------------------------------------

std::optional<HttpAnswer> HttpGate::judge(const HttpAsk& ask) {
  const std::string_view path = path_of(ask);
  if (path == "/healthz") return plain_answer(200, "ok");
  if (path == "/readyz") return draining_ ? busy("mcpivot is ending.") : plain_answer(200, "ready");
  const auto profile = profile_in(path);
  if (!profile) return plain_answer(404, "There is nothing here. MCP is at /mcp.");
  if (ask.method == "OPTIONS") return admission_.preflight(ask);
  const auto visitor = admission_.admit(ask);
  if (!visitor) {
    log_info("http: {} {} {} from {}: {}", ask.method, path, ask.header("Mcp-Method"), ask.peer,
             visitor.error().status);
    return visitor.error();
  }
  const auto refuse = [&](HttpAnswer answer) {
    answer.headers += admission_.page_headers(ask);
    return answer;
  };
  if (!visitor->profile.empty() && *profile != visitor->profile && !profile->empty())
    return refuse(plain_answer(404, "There is no such profile."));
  if (draining_) return refuse(busy("mcpivot is ending."));
  if (ask.method != "POST" && ask.method != "GET" && ask.method != "DELETE") {
    HttpAnswer answer = plain_answer(405, "Messages are sent with POST.");
    answer.headers += "Allow: POST, GET, DELETE, OPTIONS\r\n";
    return refuse(std::move(answer));
  }
  if (ask.method != "POST") return std::nullopt;
  if (!lower(ask.header("Content-Type")).starts_with("application/json"))
    return refuse(plain_answer(415, "The Content-Type must be application/json."));
  const std::string_view accepted = ask.header("Accept");
  if (!lists(accepted, "application/json") || !lists(accepted, "text/event-stream"))
    return refuse(plain_answer(406, "Accept must list application/json and text/event-stream."));
  return std::nullopt;
}

// --- requests ----------------------------------------------------------------------------------------------

void HttpGate::on_request(ReplyId reply, const HttpAsk& ask, std::string body) {
  // Once more: the tokens may be others by now.
  const auto visitor = admission_.admit(ask);
  if (!visitor) return server_->respond(reply, visitor.error());
  Visit visit{.reply = reply,
              .ask = ask,
              .who = *visitor,
              .profile = *profile_in(path_of(ask)),
              .headers = admission_.page_headers(ask)};
  if (visit.profile.empty()) visit.profile = visitor->profile;
  if (ask.method == "GET") return listen(visit);
  if (ask.method == "DELETE") return end_session(visit);
  post(std::move(visit), std::move(body));
}

void HttpGate::answer(const Visit& visit, HttpAnswer answer) {
  answer.headers += visit.headers;
  server_->respond(visit.reply, std::move(answer));
}

void HttpGate::refuse(const Visit& visit, int status, std::string_view id, int code, std::string_view words) {
  answer(visit, {.status = status, .headers = std::string(json_type), .body = error_answer(id, code, words)});
}

void HttpGate::post(Visit visit, std::string body) {
  const bool batch = is_batch(body);
  const auto message = read_message(body);
  if (!batch && !message)
    return refuse(visit, 400, message.error().id, message.error().code, message.error().reason);
  if (!batch)
    log_info("http: {} {} from {}{}{}", visit.ask.method,
             message->is_answer() ? "answer" : string_value(message->text(message->method)), visit.ask.peer,
             visit.who.principal.empty() ? "" : ", ", visit.who.principal);
  const std::string version(visit.ask.header("MCP-Protocol-Version"));
  const bool modern = !batch && (message->version || fmt::format("\"{}\"", version) == modern_version ||
                                 message->known == Method::discover || message->known == Method::listen);
  if (modern) return post_modern(std::move(visit), *message, std::move(body));
  if (!version.empty() && !is_protocol_version(version))
    return refuse(visit, 400, batch ? "" : message->text(message->id), code::invalid_request,
                  "Unsupported MCP-Protocol-Version; there are " + all_versions());
  post_legacy(std::move(visit), batch ? nullptr : &*message, std::move(body));
}

void HttpGate::post_modern(Visit visit, const Message& message, std::string body) {
  const std::string_view id = message.text(message.id);
  if (message.kind == Kind::notification) return answer(visit, {.status = 202});
  if (message.kind != Kind::request)
    return refuse(visit, 400, {}, code::invalid_request,
                  "Protocol version 2026-07-28 has no answers from clients; send inputResponses.");
  if (const std::string fault = fault_in_headers(visit.ask, message); !fault.empty())
    return refuse(visit, 400, id, code::header_mismatch, fault);
  if (const std::string fault = fault_in_meta(message); !fault.empty())
    return answer(visit, {.status = 400, .headers = std::string(json_type), .body = fault});
  const Modern key{visit.who.principal, visit.profile};
  const auto found = modern_.find(key);
  if (found == modern_.end() && lives_.size() >= settings_.most_clients)
    return answer(visit, busy("There are too many clients."));
  Life& life = found == modern_.end() ? open(visit, Era::modern, {}) : lives_.at(found->second);
  if (found == modern_.end()) modern_.emplace(key, life.client->id());
  if (message.known == Method::tools_call) {
    const std::string_view tool = life.client->desk().tool(string_value(message.text(message.name)));
    if (const std::string fault = fault_in_arguments(visit.ask, message, tool); !fault.empty())
      return refuse(visit, 400, id, code::header_mismatch, fault);
  }
  hand_over(life, visit, std::move(body));
}

void HttpGate::post_legacy(Visit visit, const Message* message, std::string body) {
  const bool begins = message != nullptr && message->known == Method::initialize;
  if (begins && !visit.ask.has("Mcp-Session-Id")) {
    if (lives_.size() >= settings_.most_clients) return answer(visit, busy("There are too many sessions."));
    return hand_over(open(visit, Era::legacy, random_text()), visit, std::move(body));
  }
  if (Life* const life = session_of(visit)) hand_over(*life, visit, std::move(body));
}

void HttpGate::hand_over(Life& life, const Visit& visit, std::string body) {
  if (life.client->crowded()) return answer(visit, busy("This client has too many requests under way."));
  by_reply_.emplace(visit.reply, life.client->id());
  life.client->post(visit.reply, std::move(body), visit.headers);
}

void HttpGate::listen(const Visit& visit) {
  HttpAnswer no_stream = plain_answer(405, "Only sessions have a stream of their own.");
  no_stream.headers += "Allow: POST, OPTIONS\r\n";
  if (!visit.ask.has("Mcp-Session-Id")) return answer(visit, std::move(no_stream));
  if (!lists(visit.ask.header("Accept"), "text/event-stream"))
    return answer(visit, plain_answer(406, "Accept must list text/event-stream."));
  Life* const life = session_of(visit);
  if (life == nullptr) return;
  by_reply_.emplace(visit.reply, life->client->id());
  life->client->listen(visit.reply, visit.ask.header("Last-Event-ID"), visit.headers);
}

void HttpGate::end_session(const Visit& visit) {
  if (!visit.ask.has("Mcp-Session-Id")) {
    HttpAnswer no_session = plain_answer(405, "Only a session can be ended.");
    no_session.headers += "Allow: POST, OPTIONS\r\n";
    return answer(visit, std::move(no_session));
  }
  Life* const life = session_of(visit);
  if (life == nullptr) return;
  revoked_.insert(life->uid);
  end(life->client->id());
  answer(visit, {.status = 204});
}

// --- sessions ----------------------------------------------------------------------------------------------

HttpGate::Life* HttpGate::session_of(const Visit& visit) {
  if (!visit.ask.has("Mcp-Session-Id")) {
    refuse(visit, 400, {}, code::invalid_request, "Mcp-Session-Id is missing: send `initialize` first.");
    return nullptr;
  }
  const auto ticket = seal_.open(visit.ask.header("Mcp-Session-Id"), now());
  // To others than its owner it does not exist.
  if (!ticket || ticket->principal != visit.who.principal || ticket->profile != visit.profile ||
      revoked_.contains(ticket->uid)) {
    refuse(visit, 404, {}, code::invalid_request,
           "There is no such session. Send `initialize` to begin one.");
    return nullptr;
  }
  const auto found = sessions_.find(ticket->uid);
  return found != sessions_.end() ? &lives_.at(found->second) : restore(visit, *ticket);
}

HttpGate::Life& HttpGate::open(const Visit& visit, Era era, std::string uid) {
  Desk& desk = gateway_.open();
  Life& life = seat(visit, desk, era, std::move(uid));
  desk.start();
  log_info("http: client {} has come{}{}", static_cast<std::uint64_t>(desk.client()),
           visit.who.principal.empty() ? "" : ": ", visit.who.principal);
  return life;
}

HttpGate::Life& HttpGate::seat(const Visit& visit, Desk& desk, Era era, std::string uid) {
  Life& life = lives_[desk.client()];
  life.who = visit.who;
  life.profile = visit.profile;
  life.uid = std::move(uid);
  WebClient::Owner& owner = *this;
  life.client = std::make_unique<WebClient>(*server_, world_.timers(), clients_, desk, era, owner);
  if (!life.uid.empty()) sessions_.emplace(life.uid, desk.client());
  return life;
}

// We issued its id, and know nothing else of it: mcpivot was started again, or the session was idle.
HttpGate::Life* HttpGate::restore(const Visit& visit, const SessionTicket& ticket) {
  if (lives_.size() >= settings_.most_clients) {
    answer(visit, busy("There are too many sessions."));
    return nullptr;
  }
  Desk& desk = gateway_.open();
  ClientState state;
  state.hello = ticket.hello;
  desk.restore(state);
  desk.add_notice(
      "[mcpivot] this session goes on in a new run of mcpivot, or after a long rest: its servers were "
      "started "
      "again, and anything that they kept in memory is gone.");
  Life& life = seat(visit, desk, Era::legacy, ticket.uid);
  life.client->set_version(fmt::format("\"{}\"", ticket.version));
  desk.start();
  log_info("http: client {} is back{}{}", static_cast<std::uint64_t>(desk.client()),
           visit.who.principal.empty() ? "" : ": ", visit.who.principal);
  return &life;
}

std::string HttpGate::on_opened(WebClient& client) {
  const auto found = lives_.find(client.id());
  if (found == lives_.end() || found->second.uid.empty()) return {};
  const Life& life = found->second;
  const std::string hello = client.desk().state().hello;
  const SessionTicket ticket{.uid = life.uid,
                             .principal = life.who.principal,
                             .profile = life.profile,
                             .version = string_value(agreed_version(hello)),
                             .hello = hello,
                             .issued = now(),
                             .expires = now() + settings_.session_life};
  return fmt::format("Mcp-Session-Id: {}\r\n", seal_.seal(ticket));
}

void HttpGate::end(ClientId client) {
  const auto found = lives_.find(client);
  if (found == lives_.end()) return;
  Life life = std::move(found->second);
  lives_.erase(found);
  sessions_.erase(life.uid);
  std::erase_if(modern_, [&](const auto& entry) { return entry.second == client; });
  life.client.reset();
  gateway_.close(client, patience);
  log_info("http: client {} has gone", static_cast<std::uint64_t>(client));
}

void HttpGate::end_idle() {
  idle_.set(std::max(settings_.session_idle / 4, milliseconds(50)), [this] {
    const auto since = world_.timers().now() - settings_.session_idle;
    std::vector<ClientId> idle;
    for (const auto& [id, life] : lives_)
      if (!life.client->busy() && life.client->last_used() < since) idle.push_back(id);
    for (const ClientId id : idle) end(id);
    end_idle();
  });
}

void HttpGate::use(Tokens tokens) {
  admission_.use(std::move(tokens));
  std::vector<ClientId> gone;
  for (const auto& [id, life] : lives_)
    if (!life.who.token.empty() && !admission_.has_token(life.who.token)) gone.push_back(id);
  for (const ClientId id : gone) end(id);
}

// --- the ends of requests ----------------------------------------------------------------------------------

void HttpGate::on_gone(ReplyId reply) {
  const auto found = by_reply_.find(reply);
  if (found == by_reply_.end()) return;
  const auto life = lives_.find(found->second);
  by_reply_.erase(found);
  if (life != lives_.end()) life->second.client->gone(reply);
}

void HttpGate::on_drained(ReplyId reply) {
  const auto found = by_reply_.find(reply);
  if (found == by_reply_.end()) return;
  const auto life = lives_.find(found->second);
  if (life != lives_.end()) life->second.client->drained();
}

void HttpGate::drain(milliseconds time, std::function<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  const auto until = world_.timers().now() + time;
  struct Look {
    HttpGate& gate;
    Clock::Time until;
    void operator()() const {
      const bool calls = std::ranges::any_of(
          gate.lives_, [](const auto& entry) { return entry.second.client->calls() > 0; });
      if (calls && gate.world_.timers().now() < until) return gate.drain_.set(milliseconds(20), *this);
      if (gate.drained_) std::exchange(gate.drained_, {})();
    }
  };
  Look{*this, until}();
}

void HttpGate::close() {
  for (auto& [id, life] : lives_) life.client->close(503);
}

}  // namespace mcpivot
