// The end of a forked child that runs no program: nothing of the parent's is flushed or destroyed twice. When
// lines are counted (./dev coverage), those of the child count too.
#pragma once

#include <unistd.h>

#ifdef MCPIVOT_COVERAGE
extern "C" void __gcov_dump();
#endif

namespace mcpivot {

[[noreturn]] inline void end_now(int code) {
#ifdef MCPIVOT_COVERAGE
  __gcov_dump();
#endif
  ::_exit(code);
}

}  // namespace mcpivot
