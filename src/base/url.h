// The address of a daemon, parsed. Only what an HTTP client needs: http and https, no user names.
//
// Ours rather than Boost.URL, which was measured: it would add 250 kB to the program and a package to the
// build, and save some thirty lines. We would still have to check and explain what an HTTP client must refuse
// (other schemes, a password, port 70000, a host "ex*ample"), since its errors are words like "leftover"; and
// it rejects characters in a path or query that daemons accept ("|", "{").
//
// Plain data. Any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace mcpivot {

struct Url {
  bool tls = false;
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 80;
  std::string target = "/";  // path and query

  // "127.0.0.1:8080", "[::1]:8080", "example.com" (the scheme's default port is left out)
  std::string authority() const;
  std::string origin() const { return (tls ? "https://" : "http://") + authority(); }
  std::string text() const { return origin() + target; }
  // For people: without the query, which may hold a secret.
  std::string shown() const {
    const auto query = target.find('?');
    return origin() + target.substr(0, query) + (query == std::string::npos ? "" : "?…");
  }
  bool same_origin(const Url& other) const {
    return tls == other.tls && host == other.host && port == other.port;
  }
};

// The error says what is wrong with the text.
std::expected<Url, std::string> parse_url(std::string_view text);

// Resolves a reference (a Location header, the old transport's endpoint) against this address.
std::expected<Url, std::string> resolve_reference(const Url& base, std::string_view reference);

}  // namespace mcpivot
