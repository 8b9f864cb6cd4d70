// Which requests are let in over HTTP, with which profile, and for how long: tokens, profiles and their
// scopes, and requests that wait until their token can be checked.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "base/utf8.h"
#include "front/http_gate.h"
#include "front/request_headers.h"
#include "log/log.h"

namespace mcpivot {
namespace {

// At least this often, because somebody may set the system's clock.
constexpr std::chrono::seconds expiry_pace{30};
// Requests that wait for keys. It isn't known yet who sent them.
constexpr std::size_t most_waiting = 256;
constexpr std::size_t longest_waiting = 1024 * 1024;
constexpr std::size_t most_waiting_bytes = 32 * longest_waiting;
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

// How long the body will be; nothing: it isn't said.
std::optional<std::size_t> announced(const HttpAsk& ask) {
  if (ask.has("Transfer-Encoding")) return std::nullopt;
  const std::string_view text = ask.header("Content-Length");
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (!text.empty() && (error != std::errc() || end != text.data() + text.size())) return std::nullopt;
  return size;
}

}  // namespace

// "127.0.0.1:4242, alice", for the log.
std::string HttpGate::sender(const HttpAsk& ask, const Visitor& who) const {
  return fmt::format("{}{}{}", admission_.address_of(ask), who.principal.empty() ? "" : ", ", who.principal);
}

// --- the head of a request ---------------------------------------------------------------------------------

std::optional<HttpAnswer> HttpGate::judge(ReplyId reply, const HttpAsk& ask) {
  const std::string_view path = path_of(ask);
  if (path == "/healthz") return plain_answer(200, "ok");
  if (path == "/readyz")
    return draining_ ? busy_answer("mcpivot is shutting down.") : plain_answer(200, "ready");
  if (const auto about = admission_.metadata_profile(path)) {
    const auto scopes = gateway_.scopes_of(*about);
    return admission_.metadata(ask, *about, scopes ? *scopes : gateway_.all_scopes());
  }
  const auto profile = profile_in(path);
  if (!profile) return plain_answer(404, "Not found. MCP is at /mcp.");
  if (ask.method == "OPTIONS") return admission_.preflight(ask);
  const auto visitor = admit(ask);
  const auto bytes = announced(ask);
  if (visitor || !visitor.error().keys_come || !bytes || !may_wait(*bytes)) return refusal(ask, visitor);
  wait_for_keys(reply, ask, *bytes, std::nullopt);
  return std::nullopt;
}

std::expected<Visitor, Rejection> HttpGate::admit(const HttpAsk& ask) const {
  const auto profile = profile_in(path_of(ask));
  return admission_.admit(ask, *profile, gateway_.scopes_of(*profile).value_or(std::vector<std::string>()));
}

std::optional<HttpAnswer> HttpGate::refusal(const HttpAsk& ask,
                                            const std::expected<Visitor, Rejection>& visitor) const {
  if (visitor) return unfit(ask, *visitor);
  log_info("http: {} {} from {}: {}{}{}", shown_text(ask.method), shown_text(path_of(ask)),
           admission_.address_of(ask), visitor.error().status, visitor.error().why.empty() ? "" : ", ",
           visitor.error().why);
  return visitor.error();
}

std::optional<HttpAnswer> HttpGate::unfit(const HttpAsk& ask, const Visitor& who) const {
  const std::string_view path = path_of(ask);
  const auto refuse = [&](HttpAnswer answer) {
    log_info("http: {} {} from {}: {}", shown_text(ask.method), shown_text(path), sender(ask, who),
             answer.status);
    answer.headers += admission_.page_headers(ask);
    return answer;
  };
  const auto profile = profile_of(who, *profile_in(path));
  if (!profile) return refuse(plain_answer(404, "There is no such profile."));
  if (auto answer = ungranted(ask, who, *profile)) return refuse(std::move(*answer));
  if (ask.method != "POST" && ask.method != "GET" && ask.method != "DELETE") {
    HttpAnswer answer = plain_answer(405, "Send messages with POST.");
    answer.headers += "Allow: POST, GET, DELETE, OPTIONS\r\n";
    return refuse(std::move(answer));
  }
  if (ask.method != "POST") return std::nullopt;
  if (!lower(ask.header("Content-Type")).starts_with("application/json"))
    return refuse(plain_answer(415, "The Content-Type must be application/json."));
  const std::string_view accepted = ask.header("Accept");
  if (!accepts(accepted, "application/json") || !accepts(accepted, "text/event-stream"))
    return refuse(plain_answer(406, "Accept must list application/json and text/event-stream."));
  return std::nullopt;
}

// A visitor whose token is bound to a profile gets that one, whatever path it uses.
std::optional<std::string> HttpGate::profile_of(const Visitor& who, const std::string& asked_for) const {
  const std::string& profile = asked_for.empty() ? who.profile : asked_for;
  if ((!who.profile.empty() && profile != who.profile) || !gateway_.has_profile(profile)) return std::nullopt;
  return profile;
}

// Scopes limit tokens of --oauth-issuer; the line of a token in --token-file says what the token is for.
// Without a token, no client gets into a profile that needs scopes: perhaps --oauth-issuer was forgotten.
bool HttpGate::is_granted(const Visitor& who, const std::string& profile) const {
  if (!who.token.empty()) return true;
  const auto scopes = gateway_.scopes_of(profile);
  if (!scopes) return !who.by_oauth;
  return std::ranges::all_of(*scopes, [&](const std::string& scope) { return contains(who.scopes, scope); });
}

std::optional<HttpAnswer> HttpGate::ungranted(const HttpAsk& ask, const Visitor& who,
                                              const std::string& profile) const {
  if (is_granted(who, profile)) return std::nullopt;
  const auto scopes = gateway_.scopes_of(profile);
  if (!scopes)
    return plain_answer(403,
                        "Tokens of the authorization server aren't accepted here: this address has no "
                        "\"scopes\" in mcpivot's config file.");
  if (!who.by_oauth)
    return plain_answer(403, "This profile needs scopes. Start mcpivot with --oauth-issuer or --token-file.");
  return admission_.insufficient(ask, profile, *scopes);
}

// --- requests whose token can be checked when keys have arrived

bool HttpGate::may_wait(std::size_t bytes) const {
  return !draining_ && waiting_.size() < most_waiting && bytes <= longest_waiting &&
         waiting_bytes_ + bytes <= most_waiting_bytes;
}

void HttpGate::wait_for_keys(ReplyId reply, const HttpAsk& ask, std::size_t bytes,
                             std::optional<std::string> body) {
  waiting_bytes_ += bytes;
  waiting_.push_back({reply, ask, bytes, std::move(body)});
}

void HttpGate::on_request(ReplyId reply, const HttpAsk& ask, std::string body) {
  const auto waiting = std::ranges::find(waiting_, reply, &Waiting::reply);
  if (waiting != waiting_.end()) {
    waiting->body = std::move(body);
    return;
  }
  // Checked again, because tokens and profiles may have changed since the headers arrived.
  const auto visitor = admit(ask);
  const std::size_t bytes = body.size();
  if (!visitor && visitor.error().keys_come && may_wait(bytes))
    return wait_for_keys(reply, ask, bytes, std::move(body));
  take(reply, ask, std::move(body), visitor);
}

void HttpGate::on_keys() {
  waiting_bytes_ = 0;
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (!server_->knows(waiting.reply)) continue;
    const auto visitor = admit(waiting.ask);
    if (waiting.body) {
      take(waiting.reply, waiting.ask, std::move(*waiting.body), visitor);
    } else if (auto answer = refusal(waiting.ask, visitor)) {
      // A client that isn't let in may not keep a connection by sending its body slowly.
      server_->respond(waiting.reply, std::move(*answer));
    }
  }
}

void HttpGate::take(ReplyId reply, const HttpAsk& ask, std::string body,
                    const std::expected<Visitor, Rejection>& visitor) {
  if (auto answer = refusal(ask, visitor)) return server_->respond(reply, std::move(*answer));
  Visit visit{.reply = reply,
              .who = *visitor,
              .profile = *profile_of(*visitor, *profile_in(path_of(ask))),
              .session = std::string(ask.header("Mcp-Session-Id")),
              .headers = admission_.page_headers(ask)};
  if (ask.method != "POST")  // the content of a POST is logged in more detail
    log_info("http: {} from {}", ask.method, sender(ask, visit.who));
  if (ask.method == "GET") return listen(std::move(visit), ask);
  if (ask.method == "DELETE") return end_by(std::move(visit));
  post(std::move(visit), ask, std::move(body));
}

// --- tokens that end

void HttpGate::use(Tokens tokens) {
  admission_.use(std::move(tokens));
  std::vector<ReplyId> gone_replies;
  for (const auto& [reply, under] : by_reply_)
    if (!under.who.token.empty() && !admission_.has_token(under.who.token)) gone_replies.push_back(reply);
  for (const ReplyId reply : gone_replies) cut(reply);
  std::vector<ClientId> gone;
  for (const auto& [id, life] : lives_)
    if (!life.who.token.empty() && !admission_.lets_in(life.who)) gone.push_back(id);
  for (const ClientId id : gone) end(id);
}

void HttpGate::cut(ReplyId reply) {
  server_->end(reply);    // a stream
  server_->abort(reply);  // anything else
  on_gone(reply);
}

void HttpGate::put_under(ReplyId reply, const Life& life, const Visitor& who, std::chrono::seconds grace) {
  const auto until = who.by_oauth ? who.until + grace : std::chrono::sys_seconds();
  by_reply_.emplace(reply, Under{life.client->id(), who, until});
  if (!who.by_oauth) return;
  expiring_.emplace(until, reply);
  if (expiring_.begin()->second == reply) end_expired();
}

std::optional<ClientId> HttpGate::take_from_under(ReplyId reply) {
  const auto found = by_reply_.find(reply);
  if (found == by_reply_.end()) return std::nullopt;
  const ClientId client = found->second.client;
  expiring_.erase({found->second.until, reply});
  by_reply_.erase(found);
  return client;
}

// Streams end with the token that they were opened with. A client that has another one by then comes back.
void HttpGate::end_expired() {
  if (expiring_.empty()) return;
  const auto wait = std::clamp(expiring_.begin()->first - now(), std::chrono::seconds(0), expiry_pace);
  expiry_.set(wait, [this] {
    while (!expiring_.empty() && expiring_.begin()->first <= now()) {
      log_info("http: a token has expired, and its stream is closed");
      const ReplyId reply = expiring_.begin()->second;
      expiring_.erase(expiring_.begin());
      cut(reply);
    }
    end_expired();
  });
}

}  // namespace mcpivot
