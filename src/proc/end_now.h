// The end of a forked child that runs no program: nothing of the parent's is flushed or destroyed twice.
//
// When lines are counted (./dev coverage), those of the child count too; and every process writes its counts
// to one of a few folders, because one that is killed while it writes spoils the file for those that come
// later.
#pragma once

#include <unistd.h>

#ifdef MCPIVOT_COVERAGE
#include <cstdlib>
#include <string>
extern "C" void __gcov_dump();
#endif

namespace mcpivot {

#ifdef MCPIVOT_COVERAGE
inline void choose_counts_folder() {
  constexpr int folders = 8;
  ::setenv("GCOV_PREFIX", (MCPIVOT_COVERAGE "/counts/" + std::to_string(::getpid() % folders)).c_str(), 1);
}
#endif

[[noreturn]] inline void end_now(int code) {
#ifdef MCPIVOT_COVERAGE
  choose_counts_folder();
  __gcov_dump();
#endif
  ::_exit(code);
}

}  // namespace mcpivot
