// The two protocol eras of MCP: versions up to 2025-11-25, which open with a handshake, and those from
// 2026-07-28 on, in which every request says who asks. What that means for messages is in mcp/era.h.
//
// Plain data.
#pragma once

#include <cstdint>
#include <string_view>

namespace mcpivot {

enum class Era : std::uint8_t { legacy, modern };

constexpr std::string_view text(Era era) {
  return era == Era::modern ? "modern" : "legacy";
}
constexpr Era other(Era era) {
  return era == Era::modern ? Era::legacy : Era::modern;
}

}  // namespace mcpivot
