// The bridge to a server of this era, for clients of the other one.
#pragma once

#include <memory>
#include <string_view>

#include "base/clock.h"
#include "bridge/bridge.h"
#include "mcp/era.h"

namespace mcpivot {

// `hello`: the words of the client whose handshake the server has, or will have. The others must outlive it.
std::unique_ptr<Bridge> make_bridge(Era server, Bridge::Ends& ends, const Clock& clock,
                                    std::string_view hello);

}  // namespace mcpivot
