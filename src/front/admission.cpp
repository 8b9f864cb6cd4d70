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
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == std::string_view::npos ? std::string() : lower(host.substr(1, end - 1));
  }
  return lower(host.substr(0, host.find(':')));
}

bool is_address(const std::string& name) {
  in_addr four{};
  in6_addr six{};
  return ::inet_pton(AF_INET, name.c_str(), &four) == 1 || ::inet_pton(AF_INET6, name.c_str(), &six) == 1;
}

// "127.example.com" isn't a loopback address.
bool is_loopback(const std::string& name) {
  return name == "localhost" || name == "::1" || (name.starts_with("127.") && is_address(name));
}

}  // namespace

Admission::Admission(AdmissionRules rules) : rules_(std::move(rules)) {
  for (std::string& host : rules_.hosts) host = lower(host);
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

std::expected<Visitor, HttpAnswer> Admission::admit(const HttpAsk& ask) const {
  const Caller caller = rules_.proxies.caller(ask);
  if (!is_our_host(ask, caller))
    return std::unexpected(plain_answer(
        403, "This host name isn't accepted. If it should be, start mcpivot with --allow-host NAME."));
  if (ask.has("Origin") && !is_our_page(ask, caller))
    return std::unexpected(plain_answer(
        403,
        "Pages of this origin may not send requests. If they should, start mcpivot with --allow-origin "
        "ORIGIN."));
  if (!rules_.tokens) return Visitor{};
  const auto token = ask.repeated("Authorization") ? std::nullopt : bearer_token(ask.header("Authorization"));
  const auto holder = token ? rules_.tokens->find(*token) : std::nullopt;
  if (!holder) {
    HttpAnswer answer = plain_answer(401, token ? "This token is unknown." : "A token is required.");
    answer.headers += fmt::format("WWW-Authenticate: Bearer realm=\"mcpivot\"{}\r\n",
                                  token ? ", error=\"invalid_token\"" : "");
    answer.headers += page_headers(ask);
    return std::unexpected(std::move(answer));
  }
  return Visitor{.principal = holder->name, .profile = holder->profile, .token = holder->id};
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
