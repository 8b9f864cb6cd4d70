// What a configuration looks like to clients that come in by a profile.
//
// Plain data. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "config/config.h"

namespace mcpivot {

// What `/mcp` itself shows, if there is a profile of this name; else everything.
inline constexpr std::string_view default_profile = "default";

// Whether clients can come in by this name; the empty one is `/mcp` itself, which is there unless its profile
// has errors.
bool has_profile(const GatewayConfig& config, std::string_view name);

// The servers, tools and powers of clients that come in by this name. If there is no such profile (any more),
// they have none.
GatewayConfig seen_through(const GatewayConfig& config, std::string_view name);

}  // namespace mcpivot
