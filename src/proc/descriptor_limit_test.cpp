#include "proc/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace mcpivot {
namespace {

TEST(DescriptorLimit, is_raised_to_the_maximum_and_restored_for_children) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{std::min<rlim_t>(256, before.rlim_max), before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  const std::size_t raised = raise_descriptor_limit();
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, raised);
  EXPECT_EQ(raised, std::min<rlim_t>(before.rlim_max, 65'536));
  raise_descriptor_limit();  // a second call changes nothing
  restore_descriptor_limit();
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, few.rlim_cur);
  EXPECT_EQ(now.rlim_max, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace mcpivot
