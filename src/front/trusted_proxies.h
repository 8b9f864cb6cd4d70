// What a proxy in front of mcpivot says about the requests that it forwards (X-Forwarded-For, -Proto and
// -Host), and which proxies are believed: --trusted-proxy. The same headers from anybody else are ignored.
//
// Plain data. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "front/http_message.h"

namespace mcpivot {

// An IPv4 address is stored as the IPv6 address that it maps to (::ffff:192.0.2.7).
using IpAddress = std::array<std::uint8_t, 16>;

// "192.0.2.7", "2001:db8::1"; nothing else.
std::optional<IpAddress> parse_ip(std::string_view text);
// As proxies write it, perhaps with a port: "192.0.2.7:1234", "[2001:db8::1]:1234", "[2001:db8::1]".
std::optional<IpAddress> parse_ip_and_port(std::string_view text);
std::string ip_text(const IpAddress& address);

// Who a request is from, and how it looked at the client's end.
struct Caller {
  std::string address;  // "192.0.2.7", "2001:db8::1", or "unix"
  bool secure = false;
  std::uint16_t port = 0;             // that the client used; 0 for a Unix socket
  bool by_proxy = false;              // one that we trust
  std::string_view forwarded_host{};  // X-Forwarded-Host, from a trusted proxy; points into the request
};

class TrustedProxies {
 public:
  // An address, a network such as 10.0.0.0/8, or "unix": anyone who connects through a Unix socket. The error
  // says what to write.
  std::expected<void, std::string> add(std::string_view text);

  // `peer` is what HttpAsk::peer has.
  bool trusts(std::string_view peer) const;
  Caller caller(const HttpAsk& ask) const;

 private:
  struct Network {
    IpAddress address{};
    unsigned bits = 128;  // that count
  };

  bool trusts(const IpAddress& address) const;
  std::string client_in(std::string_view forwarded_for, std::string_view peer) const;

  std::vector<Network> networks_;
  bool unix_sockets_ = false;
};

}  // namespace mcpivot
