#include "front/admission.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "base/text.h"
#include "base/url.h"
#include "front/bearer.h"

namespace mcpivot {
namespace {

// "[::1]:7420" → "::1", "Example.com:80" → "example.com"; empty: it is neither.
std::string name_in(std::string_view host) {
  const bool bracketed = host.starts_with('[');
  const auto end = bracketed ? host.find(']') : host.find(':');
  if (bracketed && end == std::string_view::npos) return {};
  const std::string_view name = bracketed ? host.substr(1, end - 1) : host.substr(0, end);
  std::string_view port = host.substr(std::min(host.size(), bracketed ? end + 1 : end));
  if (!port.empty() && port[0] != ':') return {};
  if (!port.empty()) port.remove_prefix(1);
  return port.find_first_not_of("0123456789") == std::string_view::npos ? lower(name) : std::string();
}

bool is_address(const std::string& name) {
  in_addr four{};
  in6_addr six{};
  return ::inet_pton(AF_INET, name.c_str(), &four) == 1 || ::inet_pton(AF_INET6, name.c_str(), &six) == 1;
}

// Of us, as the client has called us; our name in it has been checked. Empty: it can't be told.
std::string origin_in(const HttpAsk& ask, const Caller& caller) {
  const std::string_view forwarded =
      trimmed(caller.forwarded_host.substr(0, caller.forwarded_host.find(',')));
  const auto url = parse_url(fmt::format("{}://{}", caller.secure ? "https" : "http",
                                         forwarded.empty() ? ask.header("Host") : forwarded));
  return url ? url->origin() : std::string();
}

std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// "127.example.com" isn't a loopback address.
bool is_loopback(const std::string& name) {
  return name == "localhost" || name == "::1" || (name.starts_with("127.") && is_address(name));
}

}  // namespace

Admission::Admission(AdmissionRules rules) : rules_(std::move(rules)) {
  for (std::string& host : rules_.hosts) host = lower(host);
  if (rules_.oauth)
    resource_ = {.issuer = rules_.oauth->issuer(),
                 .audience = rules_.oauth->audience(),
                 .public_url = rules_.public_url};
}

// A name that we don't know may belong to a web page that has made it resolve to us (DNS rebinding).
bool Admission::is_our_name(std::string_view name) const {
  const std::string known(name);
  if (contains(rules_.hosts, known)) return true;
  if (!rules_.public_url.empty())
    if (const auto url = parse_url(rules_.public_url); url && lower(url->host) == known) return true;
  return std::ranges::any_of(rules_.listens, [&](const ListenAddress& address) {
    switch (address.kind) {
      case ListenAddress::Kind::unix_socket:
        return is_loopback(known);
      case ListenAddress::Kind::localhost:
        return is_loopback(known);
      case ListenAddress::Kind::everywhere:
        return is_loopback(known) || is_address(known);
      case ListenAddress::Kind::ip:
        if (address.host == "0.0.0.0" || address.host == "::") return is_loopback(known) || is_address(known);
        return address.host == known || (is_loopback(address.host) && is_loopback(known));
    }
    return false;
  });
}

// A trusted proxy's X-Forwarded-Host doesn't replace `Host`: a proxy that isn't configured to set it passes
// on what a web page has put there.
bool Admission::is_our_host(const HttpAsk& ask, const Caller& caller) const {
  if (ask.peer == "unix" && !caller.by_proxy) return true;  // no web page can connect there
  const auto is_ours = [this](std::string_view host) {
    const std::string name = name_in(host);
    return !name.empty() && is_our_name(name);
  };
  std::string_view forwarded = caller.forwarded_host;
  while (!forwarded.empty()) {
    const auto comma = forwarded.find(',');
    if (!is_ours(trimmed(forwarded.substr(0, comma)))) return false;
    forwarded.remove_prefix(comma == std::string_view::npos ? forwarded.size() : comma + 1);
  }
  return is_ours(ask.header("Host"));
}

bool Admission::is_our_page(const HttpAsk& ask, const Caller& caller) const {
  const std::string_view origin = ask.header("Origin");
  if (contains(rules_.origins, origin) || contains(rules_.origins, "*")) return true;
  const auto url = parse_url(origin);
  if (!url) return false;
  if (!rules_.public_url.empty())
    if (const auto ours = parse_url(rules_.public_url); ours && ours->same_origin(*url)) return true;
  return url->port == caller.port && url->tls == caller.secure && is_our_name(lower(url->host));
}

std::optional<HttpAnswer> Admission::misdirected(const HttpAsk& ask) const {
  const Caller caller = rules_.proxies.caller(ask);
  if (!is_our_host(ask, caller))
    return plain_answer(
        403, "This host name isn't accepted. If it should be, start mcpivot with --allow-host NAME.");
  if (ask.has("Origin") && !is_our_page(ask, caller))
    return plain_answer(
        403,
        "Pages of this origin may not send requests. If they should, start mcpivot with --allow-origin "
        "ORIGIN.");
  return std::nullopt;
}

std::expected<Visitor, Rejection> Admission::admit(const HttpAsk& ask, std::string_view profile,
                                                   std::span<const std::string> scopes) const {
  if (auto answer = misdirected(ask)) return std::unexpected(Rejection{std::move(*answer)});
  if (!rules_.tokens && !rules_.oauth) return Visitor{};
  const auto token = ask.repeated("Authorization") ? std::nullopt : bearer_token(ask.header("Authorization"));
  if (const auto holder = token && rules_.tokens ? rules_.tokens->find(*token) : std::nullopt)
    return Visitor{.principal = holder->name, .profile = holder->profile, .token = holder->id};
  if (!token) return std::unexpected(unauthorized(ask, {.scope = scope_text(scopes)}, profile));
  if (!rules_.oauth) return std::unexpected(unauthorized(ask, {.error = "invalid_token"}, profile));
  auto good = rules_.oauth->check(*token, now());
  if (good)
    return Visitor{.principal = std::move(good->principal),
                   .profile = {},
                   .token = {},
                   .by_oauth = true,
                   .scopes = std::move(good->scopes),
                   .until = good->until};
  using Kind = AccessTokens::Refusal::Kind;
  if (good.error().kind == Kind::bad_token)
    return std::unexpected(unauthorized(
        ask, {.error = "invalid_token", .words = good.error().words, .scope = scope_text(scopes)}, profile));
  const bool keys_come = good.error().kind == Kind::keys_come;
  Rejection unknown{
      plain_answer(503, "The keys for checking tokens aren't available right now. Try again later."),
      keys_come, good.error().words};
  unknown.headers += fmt::format("Retry-After: {}\r\n", keys_come ? 1 : rules_.oauth->retry_after().count());
  unknown.headers += page_headers(ask);
  return std::unexpected(std::move(unknown));
}

Rejection Admission::unauthorized(const HttpAsk& ask, SentChallenge challenge,
                                  std::string_view profile) const {
  const bool bad = !challenge.error.empty();
  Rejection answer{plain_answer(401, !bad ? "A token is required."
                                     : challenge.words.empty()
                                         ? "This token is unknown."
                                         : fmt::format("This token isn't accepted: {}.", challenge.words)),
                   false, challenge.words};
  if (resource_) {
    challenge.metadata_url = metadata_url(ask, profile);
    answer.headers += header_of(challenge);
  } else {
    answer.headers += fmt::format("WWW-Authenticate: Bearer realm=\"mcpivot\"{}\r\n",
                                  bad ? ", error=\"invalid_token\"" : "");
  }
  answer.headers += page_headers(ask);
  return answer;
}

// --- OAuth -------------------------------------------------------------------------------------------------

std::string Admission::metadata_url(const HttpAsk& ask, std::string_view profile) const {
  const std::string origin = origin_in(ask, rules_.proxies.caller(ask));
  return origin.empty() && rules_.public_url.empty() ? std::string()
                                                     : resource_->metadata_url(origin, profile);
}

std::optional<std::string> Admission::metadata_profile(std::string_view path) const {
  return resource_ ? resource_->profile_in(path) : std::nullopt;
}

HttpAnswer Admission::metadata(const HttpAsk& ask, std::string_view profile,
                               std::span<const std::string> scopes) const {
  if (ask.method == "OPTIONS") return preflight(ask);
  if (auto answer = misdirected(ask)) return std::move(*answer);
  if (ask.method != "GET" && ask.method != "HEAD") {
    HttpAnswer answer = plain_answer(405, "The metadata can only be read.");
    answer.headers += "Allow: GET, HEAD, OPTIONS\r\n";
    return answer;
  }
  return {.status = 200,
          .headers = "Content-Type: application/json\r\nCache-Control: no-cache\r\n" + page_headers(ask),
          .body = resource_->metadata(origin_in(ask, rules_.proxies.caller(ask)), profile, scopes)};
}

HttpAnswer Admission::insufficient(const HttpAsk& ask, std::string_view profile,
                                   std::span<const std::string> scopes) const {
  HttpAnswer answer =
      plain_answer(403, fmt::format("The token lacks a scope. This address needs: {}.", scope_text(scopes)));
  answer.headers += header_of({.error = "insufficient_scope",
                               .words = "the token lacks a scope",
                               .scope = scope_text(scopes),
                               .metadata_url = metadata_url(ask, profile)});
  return answer;
}

std::string Admission::page_headers(const HttpAsk& ask) const {
  if (!ask.has("Origin")) return {};
  return fmt::format(
      "Access-Control-Allow-Origin: {}\r\nVary: Origin\r\n"
      "Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate, Retry-After\r\n",
      ask.header("Origin"));
}

HttpAnswer Admission::preflight(const HttpAsk& ask) const {
  const Caller caller = rules_.proxies.caller(ask);
  if (!is_our_host(ask, caller) || !ask.has("Origin") || !is_our_page(ask, caller))
    return plain_answer(
        403,
        "Pages of this origin may not send requests. If they should, start mcpivot with --allow-origin "
        "ORIGIN.");
  HttpAnswer answer{.status = 204, .headers = page_headers(ask)};
  answer.headers +=
      "Access-Control-Allow-Methods: POST, GET, DELETE, OPTIONS\r\n"
      "Access-Control-Allow-Headers: Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, "
      "Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id";
  // A tool's parameters may have headers of their own.
  std::string_view wanted = ask.header("Access-Control-Request-Headers");
  while (!wanted.empty()) {
    const auto comma = wanted.find(',');
    const std::string_view name = trimmed(wanted.substr(0, comma));
    if (lower(name).starts_with("mcp-param-")) answer.headers += fmt::format(", {}", name);
    wanted.remove_prefix(comma == std::string_view::npos ? wanted.size() : comma + 1);
  }
  answer.headers += "\r\nAccess-Control-Max-Age: 600\r\n";
  return answer;
}

}  // namespace mcpivot
