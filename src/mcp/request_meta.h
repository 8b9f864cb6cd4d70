// What a modern request must say of itself in `params._meta`, as the specification wants it checked.
//
// Any thread.
#pragma once

#include <string>

#include "rpc/message.h"

namespace mcpivot {

// What is wrong with it, as an answer; empty: nothing.
std::string fault_in_meta(const Message& request);

// It names a version that we don't have. `modern`: whether the modern one is among those that we name.
std::string unsupported_version(const Message& request, bool modern);

// The same from a server, about a modern request: whether the modern version is among those that it names. It
// then wants to be asked again.
bool wants_modern_again(const Message& answer);

}  // namespace mcpivot
