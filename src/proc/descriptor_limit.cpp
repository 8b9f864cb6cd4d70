#include "proc/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace mcpivot {
namespace {

constexpr rlim_t most_of_use = 65'536;
rlimit usual{};
bool raised = false;

}  // namespace

std::size_t raise_descriptor_limit() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return 1024;
  const rlimit more{std::max(now.rlim_cur, std::min(now.rlim_max, most_of_use)), now.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &more) != 0) return now.rlim_cur;
  if (!raised) usual = now;
  raised = true;
  return more.rlim_cur;
}

void restore_descriptor_limit() {
  if (raised) ::setrlimit(RLIMIT_NOFILE, &usual);
}

}  // namespace mcpivot
