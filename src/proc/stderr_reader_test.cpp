#include "proc/stderr_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

namespace mcpivot {
namespace {

constexpr int generation = 1;

std::shared_ptr<StderrReader> reader_of(boost::asio::io_context& loop, int descriptor, OutputRing& ring) {
  return std::make_shared<StderrReader>(loop, Descriptor(descriptor), "server", generation, ring, false);
}

TEST(StderrReader, drain_takes_what_is_there) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::string text;
  for (int i = 1; i <= 5000; ++i) text += "line " + std::to_string(i) + "\n";  // more than one read takes
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  boost::asio::io_context loop;
  OutputRing ring;
  reader_of(loop, ends[0], ring)->drain();
  ASSERT_FALSE(ring.lines().empty());
  EXPECT_EQ(ring.lines().back().text, "line 5000");
  ::close(ends[1]);
}

// As when something that a server left behind writes all the time.
TEST(StderrReader, drain_ends_though_there_is_always_more) {
  const int endless = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(endless, 0);
  boost::asio::io_context loop;
  OutputRing ring;
  reader_of(loop, endless, ring)->drain();
  EXPECT_FALSE(ring.lines().empty());
}

}  // namespace
}  // namespace mcpivot
