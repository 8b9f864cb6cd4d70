// The bridge to a server of this era, for clients of the other one.
//
// One thread.
#pragma once

#include <memory>
#include <string_view>

#include "base/clock.h"
#include "bridge/bridge.h"
#include "mcp/era.h"

namespace mcpivot {

// `hello`: that of the client whose handshake the server gets. `initialize_result`: the server's answer to
// it, if it is a legacy server that has been initialized. `shared`: by several clients, so that a server's
// question could be for any of them. The other arguments must outlive the bridge.
std::unique_ptr<Bridge> make_bridge(Era server, Bridge::Ends& ends, const Clock& clock,
                                    std::string_view hello, std::string_view initialize_result, bool shared);

}  // namespace mcpivot
