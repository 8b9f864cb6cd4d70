// The parts of a modern request's params that concern its rounds, which a legacy server must not see; and a
// digest of the rest, which ties a retry to the request that it repeats.
//
// Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

struct RoundParams {
  // These members, with their commas: `inputResponses`, `requestState`, and `task`, because tasks stay within
  // their era.
  std::vector<Span> cut;
  Span responses;  // the value of `inputResponses`
  bool responses_twice = false;
};

RoundParams round_params(const Message& request);

// A digest of its method and of all members of its params except `_meta`, `inputResponses` and
// `requestState`, as spelled and in order.
std::string request_digest(const Message& request);

}  // namespace mcpivot
