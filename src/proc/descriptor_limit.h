// How many descriptors we may have open. A server with many clients needs one for each; programs that we
// start get the usual limit, because some of them rely on it (select() supports no descriptor above 1,023).
//
// One thread.
#pragma once

#include <cstddef>

namespace mcpivot {

// Raises the limit as far as the system allows and it is useful. Returns the new limit.
std::size_t raise_descriptor_limit();

// For a child of ours, before exec: the limit as it was before we raised it. Async-signal-safe.
void restore_descriptor_limit();

}  // namespace mcpivot
