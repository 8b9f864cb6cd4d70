#include "front/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace mcpivot {
namespace {

// "127.0.0.1" as the system spells it; empty if it isn't an address.
std::string normal(std::string_view host) {
  const std::string text(host);
  in_addr four{};
  in6_addr six{};
  char spelled[INET6_ADDRSTRLEN] = "";
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) {
    ::inet_ntop(AF_INET, &four, spelled, sizeof(spelled));
  } else if (::inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    ::inet_ntop(AF_INET6, &six, spelled, sizeof(spelled));
  }
  return spelled;
}

}  // namespace

std::string with_port(std::string_view host, std::uint16_t port) {
  return host.find(':') == std::string_view::npos ? fmt::format("{}:{}", host, port)
                                                  : fmt::format("[{}]:{}", host, port);
}

bool ListenAddress::is_local() const {
  switch (kind) {
    case Kind::ip:
      return host.starts_with("127.") || host == "::1";
    case Kind::localhost:
    case Kind::unix_socket:
      return true;
    case Kind::everywhere:
      return false;
  }
  return false;
}

std::string ListenAddress::text() const {
  switch (kind) {
    case Kind::ip:
      return with_port(host, port);
    case Kind::localhost:
      return fmt::format("localhost:{}", port);
    case Kind::everywhere:
      return fmt::format("*:{}", port);
    case Kind::unix_socket:
      return "unix:" + path;
  }
  return {};
}

std::expected<ListenAddress, std::string> parse_listen_address(std::string_view text) {
  auto fail = [&](std::string_view why) {
    return std::unexpected(fmt::format("can't listen on '{}': {}", text, why));
  };
  ListenAddress address;
  if (text.starts_with("unix:")) {
    address.kind = ListenAddress::Kind::unix_socket;
    address.path = text.substr(5);
    if (address.path.empty()) return fail("write the socket's path after \"unix:\"");
    return address;
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return fail("write it as HOST:PORT, for example 127.0.0.1:7420");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const char* end = port.data() + port.size();
  auto [tail, error] = std::from_chars(port.data(), end, address.port);
  if (port.empty() || error != std::errc() || tail != end)
    return fail("the port must be a number from 0 to 65535 (0: any free one)");
  if (host.empty())
    return fail(fmt::format("write 127.0.0.1:{0} for this machine alone, *:{0} for all", port));
  if (host == "*") {
    address.kind = ListenAddress::Kind::everywhere;
    return address;
  }
  if (lower(host) == "localhost") return address;
  address.kind = ListenAddress::Kind::ip;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  address.host = normal(host);
  if (address.host.empty())
    return fail("the host must be an IP address, \"localhost\", or \"*\" for all addresses of this machine");
  if ((address.host.find(':') != std::string::npos) != bracketed)
    return fail("put an IPv6 address, and only that, in brackets: [::1]:7420");
  return address;
}

}  // namespace mcpivot
