// Unguessable texts, for what only their holder may use: tokens, keys, names of sockets.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

// 32 hexadecimal digits from the system's source of randomness.
std::string random_text();

}  // namespace mcpivot
