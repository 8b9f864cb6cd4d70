// The handshake of the legacy era, as a proxy answers it. Capabilities can't be added to a connection later,
// so a client is told at the start about everything that a later generation might offer.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot {

// The answer to a client's `initialize`: the server's own result with the capabilities widened and the rest
// of its bytes untouched.
std::string widened_initialize_result(std::string_view server_result);

// The version, as JSON text, in which we answer a client in our own name: the one it asks for, or our
// latest.
std::string_view agreed_version(std::string_view client_params);

// The params of `initialize` in our own name, for a server that clients share: without any capability that
// would let it ask one of them something.
std::string own_hello();

// The result with this version, as JSON text.
std::string with_version(std::string_view initialize_result, std::string_view version);

// mcpivot's own answer to a client's `initialize`: for several servers, or for one that couldn't be
// started, at least not in time.
std::string gateway_initialize_result(std::string_view client_params, std::string_view instructions);

// The same for `server/discover`: the server's own result, or one in our own name. `modern`: whether the
// modern era is offered.
std::string widened_discover_result(std::string_view server_result, bool modern);
std::string gateway_discover_result(std::string_view instructions, bool modern);

// The result with this text before its instructions.
std::string with_words(std::string_view initialize_result, std::string_view words);

// All versions that we support, latest first, as a JSON array.
std::string all_versions(bool modern = true);

// Whether this is a version of the protocol, in either era.
bool is_protocol_version(std::string_view version);

// The version that a server reports for itself; empty if none.
std::string server_version(std::string_view initialize_result);
// The same for its name.
std::string server_own_name(std::string_view initialize_result);

// Whether a server announced this capability in its result.
bool has_capability(std::string_view initialize_result, std::string_view capability);
// Whether it supports subscribing to resources.
bool takes_subscriptions(std::string_view initialize_result);

}  // namespace mcpivot
