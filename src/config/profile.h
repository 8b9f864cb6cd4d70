// What a configuration looks like to clients that connect through a profile.
//
// Plain data. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace mcpivot {

// What `/mcp` itself shows, if there is a profile of this name; otherwise it shows everything.
inline constexpr std::string_view default_profile = "default";

// Whether clients can connect under this name; the empty one is `/mcp` itself, which exists unless its
// profile has errors.
bool has_profile(const GatewayConfig& config, std::string_view name);

// The scopes that a token of --oauth-issuer needs to connect under this name, all of them. Nothing: such
// tokens aren't accepted there. /mcp without a profile shows everything, so it accepts them only if the file
// has no profiles at all.
std::optional<std::vector<std::string>> scopes_of(const GatewayConfig& config, std::string_view name);

// All scopes that profiles ask for, each once.
std::vector<std::string> all_scopes(const GatewayConfig& config);

// The servers, tools and powers of clients that connect under this name. If there is no such profile (any
// more), they have none.
GatewayConfig seen_through(const GatewayConfig& config, std::string_view name);

// What everybody may do who can have this server.
Powers powers_of_all(const GatewayConfig& config, std::string_view server);

}  // namespace mcpivot
