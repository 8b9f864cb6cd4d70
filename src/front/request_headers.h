// What requests say in their headers. In a modern request that must be what its body says: others on the way
// may have decided by the headers alone.
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "front/http_message.h"
#include "rpc/message.h"

namespace mcpivot {

// Describes what is wrong with them; empty: nothing.
std::string fault_in_headers(const HttpAsk& ask, const Message& request);

// The same for the arguments that a call of this tool, as its server defines it, repeats in
// headers.
std::string fault_in_arguments(const HttpAsk& ask, const Message& call, std::string_view tool);

// Whether the value of an Accept header includes this type; none accepts everything.
bool accepts(std::string_view accept, std::string_view type);

// The text that a header's value stands for: =?base64?…?= is decoded. Nothing: it is invalid.
std::optional<std::string> decoded_header(std::string_view value);

}  // namespace mcpivot
