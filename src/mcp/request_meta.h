// The checks of a modern request's `params._meta` that the specification asks for.
//
// Any thread.
#pragma once

#include <string>

#include "rpc/message.h"

namespace mcpivot {

// An error answer that says what is wrong with it; empty: nothing.
std::string fault_in_meta(const Message& request);

// The error for a version that we don't support. `modern`: whether the modern one is among those that we
// name.
std::string unsupported_version(const Message& request, bool modern);

// For the same error from a server about a modern request: whether it names the modern version, and so wants
// to be asked again.
bool wants_modern_again(const Message& answer);

}  // namespace mcpivot
