// JSON-RPC messages that we write ourselves: results and errors for the caller, cancellations for the one
// that was asked.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "rpc/message.h"

namespace mcpivot {

namespace code {
// JSON-RPC's own codes, and the one that MCP SDKs use when the other side of a connection is gone.
constexpr int invalid_request = -32600;
constexpr int method_not_found = -32601;
constexpr int invalid_params = -32602;
constexpr int internal_error = -32603;
constexpr int connection_closed = -32000;
constexpr int resource_not_found = -32002;
}  // namespace code

// `id` as its sender spelled it; empty if none could be read, since MCP does not allow null. `data` is JSON
// text; empty: none.
std::string error_answer(std::string_view id, int code, std::string_view message, std::string_view data = {});

// A request of our own, or a notification if the id is empty. `params` is JSON text; empty: none.
std::string request_line(std::string_view id, std::string_view method, std::string_view params);

// An answer with this JSON text as its result.
std::string result_answer(std::string_view id, std::string_view result);

// The answer to a tool call: this text, for the model to read.
std::string tool_answer(std::string_view id, std::string_view text, bool is_error);

// For a request that failed: as a tool's result, where the model reads it; for other methods, as an error.
std::string failure_answer(Method asked, std::string_view id, std::string_view words);

// Tells a peer that we no longer want an answer to the request that it knows by this id.
std::string cancellation(std::string_view id, std::string_view reason);

}  // namespace mcpivot
