// Pinning, by sched_setaffinity(), which children inherit.
#include "cores.h"

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace {

void use(const cpu_set_t& cores) {
  if (sched_setaffinity(0, sizeof cores, &cores) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_setaffinity");
}

}  // namespace

Cores::Cores() {
  if (sched_getaffinity(0, sizeof all_, &all_) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
  for (size_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all_)) chosen_ = static_cast<int>(core);
  CPU_ZERO(&one_);
  CPU_SET(static_cast<size_t>(chosen_), &one_);
}

void Cores::use_one() const {
  use(one_);
}

void Cores::use_all() const {
  use(all_);
}
