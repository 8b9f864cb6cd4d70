// What a server may ask a client in the middle of a call, in either era: in which calls, and which
// capabilities the client needs.
//
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/message.h"

namespace mcpivot {

enum class Ask : std::uint8_t { elicitation, sampling, roots };

// The method of the legacy era's request, which also names the question in a modern answer.
std::string_view method_of(Ask ask);
// Nothing: clients can't be asked that.
std::optional<Ask> ask_of(std::string_view method);
// The capability that a client must have to be asked this.
std::string_view capability_of(Ask ask);

// The methods whose answer may be `input_required`.
constexpr bool may_require_input(Method method) {
  return method == Method::tools_call || method == Method::prompts_get || method == Method::resources_read;
}

// Which capability a client with these (JSON text) lacks to be asked this; empty:
// none.
std::string missing_capability(Ask ask, std::string_view params, std::string_view capabilities);

}  // namespace mcpivot
