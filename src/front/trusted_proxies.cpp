#include "front/trusted_proxies.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace mcpivot {
namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned mapped_bits = 96;

bool is_mapped(const IpAddress& address) {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.begin());
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [tail, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || tail != end) return std::nullopt;
  return number;
}

// Only the first `bits` bits are kept.
IpAddress network_of(IpAddress address, unsigned bits) {
  for (unsigned i = 0; i < address.size(); ++i) {
    const unsigned kept = bits > i * 8 ? std::min(bits - i * 8, 8U) : 0;
    address[i] = static_cast<std::uint8_t>(address[i] & (0xff00U >> kept));
  }
  return address;
}

// "example.com:8443" → 8443
std::optional<std::uint16_t> port_in(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || host.ends_with(']')) return std::nullopt;
  return number_in<std::uint16_t>(host.substr(colon + 1));
}

std::string_view first_of(std::string_view list) {
  return trimmed(list.substr(0, list.find(',')));
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::string terminated(text);
  if (terminated.size() != std::char_traits<char>::length(terminated.c_str())) return std::nullopt;
  IpAddress address{};
  if (::inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1) return address;
  std::ranges::copy(mapped_prefix, address.begin());
  if (::inet_pton(AF_INET, terminated.c_str(), address.data() + mapped_prefix.size()) == 1) return address;
  return std::nullopt;
}

std::optional<IpAddress> parse_ip_and_port(std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    port = text.substr(end + 1);
    text = text.substr(1, end - 1);
    if (text.find(':') == std::string_view::npos) return std::nullopt;  // brackets are for IPv6
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos && colon == text.rfind(':')) {
    port = text.substr(colon);
    text = text.substr(0, colon);
  }
  if (!port.empty() && (port.front() != ':' || !number_in<std::uint16_t>(port.substr(1))))
    return std::nullopt;
  return parse_ip(text);
}

std::string ip_text(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_mapped(address)) {
    ::inet_ntop(AF_INET, address.data() + mapped_prefix.size(), text, sizeof(text));
  } else {
    ::inet_ntop(AF_INET6, address.data(), text, sizeof(text));
  }
  return text;
}

std::expected<void, std::string> TrustedProxies::add(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return std::unexpected(fmt::format("can't trust a proxy at '{}': {}", text, why));
  };
  if (text == "unix") {
    unix_sockets_ = true;
    return {};
  }
  const auto slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  const auto address = parse_ip(host);
  if (!address)
    return fail(parse_ip_and_port(host)
                    ? "write the address without a port and brackets; a proxy's port changes with each "
                      "connection"
                    : "write an IP address (127.0.0.1), a network (10.0.0.0/8), or \"unix\" for any client "
                      "of a Unix socket");
  Network network{.address = *address};
  if (slash != std::string_view::npos) {
    const bool four = host.find(':') == std::string_view::npos;
    const auto bits = number_in<unsigned>(text.substr(slash + 1));
    if (!bits || *bits > (four ? 32U : 128U))
      return fail(fmt::format("what follows the slash must be a number from 0 to {}", four ? 32 : 128));
    network.bits = *bits + (four ? mapped_bits : 0);
    network.address = network_of(*address, network.bits);
    if (network.address != *address)
      return fail(fmt::format("write {0} for that one address, or {1}/{2} for the whole network", host,
                              ip_text(network.address),
                              is_mapped(network.address) ? network.bits - mapped_bits : network.bits));
  }
  networks_.push_back(network);
  return {};
}

bool TrustedProxies::trusts(const IpAddress& address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) {
    return network_of(address, network.bits) == network.address;
  });
}

bool TrustedProxies::trusts(std::string_view peer) const {
  if (peer == "unix") return unix_sockets_;
  if (networks_.empty()) return false;
  const auto address = parse_ip(peer);
  return address && trusts(*address);
}

// Each proxy appends the address of its caller to the list. Read from the end, whatever precedes the first
// address that isn't a trusted proxy's may be made up by the owner of that address.
std::string TrustedProxies::client_in(std::string_view forwarded_for, std::string_view peer) const {
  std::string client(peer);
  while (!forwarded_for.empty()) {
    const auto comma = forwarded_for.rfind(',');
    const bool last = comma == std::string_view::npos;
    const auto address = parse_ip_and_port(trimmed(last ? forwarded_for : forwarded_for.substr(comma + 1)));
    if (!address) break;
    client = ip_text(*address);
    if (last || !trusts(*address)) break;
    forwarded_for = forwarded_for.substr(0, comma);
  }
  return client;
}

Caller TrustedProxies::caller(const HttpAsk& ask) const {
  Caller caller{.address = ask.peer, .secure = ask.secure, .port = ask.local_port};
  if (!trusts(ask.peer)) return caller;
  caller.by_proxy = true;
  caller.address = client_in(ask.header("X-Forwarded-For"), ask.peer);
  caller.forwarded_host = ask.header("X-Forwarded-Host");
  const std::string scheme = lower(first_of(ask.header("X-Forwarded-Proto")));
  const bool knows_scheme = scheme == "http" || scheme == "https";
  if (knows_scheme) caller.secure = scheme == "https";
  if (!knows_scheme && caller.forwarded_host.empty()) return caller;
  const std::string_view host = caller.forwarded_host.empty() ? ask.header("Host") : caller.forwarded_host;
  caller.port = port_in(first_of(host)).value_or(caller.secure ? 443 : 80);
  return caller;
}

}  // namespace mcpivot
