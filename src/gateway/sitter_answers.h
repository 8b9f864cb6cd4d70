// The answers of mcp-sitter's tools, in its own format: JSON with the same keys, for prompts and scripts that
// were written for it.
//
// Any thread.
#pragma once

#include <chrono>
#include <string>

#include "server/instance.h"

namespace mcpivot {

std::string sitter_status(const Status& status, const Command& command, std::chrono::seconds our_uptime);
std::string sitter_binary_info(const Status& status);
std::string sitter_killed(const StopResult& stopped);

}  // namespace mcpivot
