#include "proc/shared_descriptor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace mcpivot {
namespace {

TEST(SharedDescriptor, is_restored_to_its_old_mode) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  {
    const SharedDescriptor shared(ends[0]);
    const int own = shared.duplicate();
    ASSERT_GE(own, 0);
    EXPECT_EQ(::fcntl(own, F_GETFD), FD_CLOEXEC);
    ASSERT_EQ(::fcntl(own, F_SETFL, O_NONBLOCK), 0);
    EXPECT_TRUE(::fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    ::close(own);
  }
  EXPECT_FALSE(::fcntl(ends[0], F_GETFL) & O_NONBLOCK);
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace mcpivot
