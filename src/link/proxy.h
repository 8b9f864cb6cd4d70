// Which HTTP proxy the environment wants for an address: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in
// upper or lower case. A host on this machine is never reached through a proxy.
//
// Any thread, if the lookup allows it.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "base/environment.h"
#include "base/url.h"

namespace mcpivot {

struct Proxy {
  Url url;
  std::string authorization;  // for the Proxy-Authorization header; empty: none
};

// The error says which variable isn't a URL.
std::expected<std::optional<Proxy>, std::string> proxy_for(const Url& url, const Variable& variable);

// "localhost", "127.0.0.1", "::1" and the like.
bool is_loopback(const std::string& host);

}  // namespace mcpivot
