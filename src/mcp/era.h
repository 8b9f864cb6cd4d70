// The two protocol eras, and how a client describes itself in each. The legacy era (up to 2025-11-25) opens
// with `initialize`; in the modern one (2026-07-28) every request says in `params._meta` what `initialize`
// said once.
//
// mcpivot keeps a client's description of itself as a *hello*: the params of `initialize`. A modern client's
// `_meta` is converted to one, and any client's hello to the members of a `_meta`.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/era.h"
#include "rpc/message.h"

namespace mcpivot {

// The era of a client's request or notification.
inline Era era_of(const Message& message) {
  return message.version ? Era::modern : Era::legacy;
}

// The one modern version, and the latest legacy one, as JSON text.
constexpr std::string_view modern_version = R"("2026-07-28")";
constexpr std::string_view latest_legacy_version = R"("2025-11-25")";

namespace meta_key {
constexpr std::string_view version = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view client_info = "io.modelcontextprotocol/clientInfo";
constexpr std::string_view client_capabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view log_level = "io.modelcontextprotocol/logLevel";
constexpr std::string_view subscription = "io.modelcontextprotocol/subscriptionId";
constexpr std::string_view server_info = "io.modelcontextprotocol/serverInfo";
}  // namespace meta_key

namespace code {
constexpr int header_mismatch = -32020;
constexpr int missing_capability = -32021;
constexpr int unsupported_version = -32022;
constexpr int url_elicitation_required = -32042;  // 2025-11-25 only
}  // namespace code

// A modern client's `_meta` as a hello, in the latest legacy version.
std::string hello_of(std::string_view meta);

// The members that a modern request's `_meta` must have for a client with this hello, without braces.
// `level`: a log level as JSON text, or empty.
std::string meta_members(std::string_view hello, std::string_view level = {});

// A request (a line) with these members in its `_meta`; one that is modern already stays as it is.
std::string with_meta(std::string_view request, std::string_view members);
// A request or notification with these members at the beginning of its `_meta`, whatever else is in there.
std::string with_meta_members(const Message& message, std::string_view members);

// A server's answer to `server/discover` as an answer to `initialize` in this version (JSON text), and vice
// versa. The bytes of capabilities, instructions and serverInfo stay as they are.
std::string initialize_result_of(std::string_view discover_result, std::string_view version);
std::string discover_result_of(std::string_view initialize_result);

// Our own answer to a modern request, with the `resultType` that every modern result has.
std::string with_result_type(std::string_view answer);

// Whether this is a server's answer to `server/discover` rather than to `initialize`.
bool is_discover_result(std::string_view result);
// Whether a result asks the client for input: the call isn't over.
bool is_input_required(std::string_view result);
// Whether it offers the modern version.
bool offers_modern(std::string_view discover_result);

}  // namespace mcpivot
