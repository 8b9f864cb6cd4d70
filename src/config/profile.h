// What a configuration looks like to clients that connect through a profile.
//
// Plain data. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "config/config.h"

namespace mcpivot {

// What `/mcp` itself shows, if there is a profile of this name; otherwise it shows everything.
inline constexpr std::string_view default_profile = "default";

// Whether clients can connect under this name; the empty one is `/mcp` itself, which exists unless its
// profile has errors.
bool has_profile(const GatewayConfig& config, std::string_view name);

// The servers, tools and powers of clients that connect under this name. If there is no such profile (any
// more), they have none.
GatewayConfig seen_through(const GatewayConfig& config, std::string_view name);

}  // namespace mcpivot
