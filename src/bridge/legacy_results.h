// Adapts a modern server's answers for a legacy client: edits remove or replace what such a client would
// reject. Everything else passes unchanged; members that it doesn't know do no harm.
//
// Any thread.
#pragma once

#include <string_view>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

// The members of a result that matter here, as JSON text; empty if they are absent, or the result isn't an
// object.
struct ResultParts {
  std::string_view type;            // resultType
  std::string_view structured;      // structuredContent
  std::string_view tools;           // tools
  std::string_view input_requests;  // inputRequests
  std::string_view request_state;   // requestState
};
// In one pass.
ResultParts parts_of(std::string_view result);

// Whether the result is final rather than an intermediate step.
bool is_complete(const ResultParts& parts);
bool is_input_required(const ResultParts& parts);

// `asked`: the method that this answers.
void fit_result(const Message& answer, Method asked, const ResultParts& parts, Edits& edits);
void fit_error(const Message& answer, Method asked, Edits& edits);

}  // namespace mcpivot
