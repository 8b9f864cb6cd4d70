// Ends a forked child that runs no program, without flushing or destroying anything of the parent's a second
// time.
//
// In coverage runs (./dev coverage), the child's lines count too; and every process writes its counts
// to one of a few folders, because a process that is killed while it writes spoils the file for later
// ones.
//
// Only in a child, after fork().
#pragma once

#include <unistd.h>

#ifdef MCPIVOT_COVERAGE
#include <cstdlib>
#include <string>
extern "C" void __gcov_dump();
#endif

namespace mcpivot {

#ifdef MCPIVOT_COVERAGE
// Next to the program.
inline void choose_counts_folder() {
  constexpr int folders = 8;
  std::string program(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size());
  if (size <= 0) return;
  program.resize(static_cast<std::size_t>(size));
  const std::string folder = program.substr(0, program.rfind('/'));
  ::setenv("GCOV_PREFIX", (folder + "/counts/" + std::to_string(::getpid() % folders)).c_str(), 1);
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
