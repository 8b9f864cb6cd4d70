// How many descriptors we may have open. Whoever serves many clients needs one for each; programs that we
// start get the usual limit, because some of them rely on it (select() knows no descriptor above 1,023).
//
// One thread.
#pragma once

#include <cstddef>

namespace mcpivot {

// As many as the system allows, but no more than are of use. How many that is.
std::size_t raise_descriptor_limit();

// For a child of ours, before it becomes another program: as it was before we raised it. Async-signal-safe.
void restore_descriptor_limit();

}  // namespace mcpivot
