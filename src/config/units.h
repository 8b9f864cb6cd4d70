// Durations, sizes and replay rules, as people write them on the command line and in files.
//
// Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/server_config.h"

namespace mcpivot {

// "90", "1.5s", "200ms", "10m", "1h"; a bare number is in seconds. Nothing: it isn't a duration, or one of
// more than 100 days.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// "1048576", "8MB", "1.5 MiB": a kB has 1000 bytes, a KiB 1024. Nothing: it isn't a size.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// "TOOL", or "TOOL:KEY=VALUE". Nothing: it is neither.
std::optional<ReplayRule> parse_replay_rule(std::string_view text);

}  // namespace mcpivot
