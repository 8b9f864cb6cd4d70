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

// What is wrong with them, in words; empty: nothing.
std::string fault_in_headers(const HttpAsk& ask, const Message& request);

// The same for the arguments of a call of this tool, as its server describes it, that go into headers as
// well.
std::string fault_in_arguments(const HttpAsk& ask, const Message& call, std::string_view tool);

// Whether the value of an Accept header includes this type; none accepts everything.
bool accepts(std::string_view accept, std::string_view type);

// A header's value as the text that it stands for: =?base64?…?= is decoded. Nothing: it can't be.
std::optional<std::string> decoded_header(std::string_view value);

}  // namespace mcpivot
