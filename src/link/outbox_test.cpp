#include "link/outbox.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace mcpivot {
namespace {

// Writes everything, this many bytes at a time.
std::string drain(Outbox& outbox, std::size_t step) {
  std::string written;
  while (!outbox.empty()) {
    std::array<iovec, 3> pieces;
    const std::size_t count = outbox.gather(pieces);
    std::string next;
    for (std::size_t i = 0; i < count; ++i)
      next.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    next.resize(std::min(step, next.size()));
    written += next;
    outbox.consume(next.size());
  }
  return written;
}

Message message_in(const BufferRef& buffer, std::string_view text) {
  std::memcpy(buffer->data(), text.data(), text.size());
  Message message;
  message.raw = {buffer->data(), text.size()};
  message.buffer = buffer;
  return message;
}

TEST(Outbox, writes_small_and_large_messages_in_order_whatever_the_write_sizes) {
  const std::string large = "{\"id\":12345," + std::string(100'000, 'x') + "}";
  for (const std::size_t step : {1UL, 7UL, 4096UL, 1'000'000UL}) {
    Outbox outbox;
    const BufferRef buffer(new Buffer(200'000));
    outbox.add("first");
    outbox.add(message_in(buffer, large), Edits().replace({6, 5}, "9").list());
    outbox.add("last");
    std::string expected = large;
    expected.replace(6, 5, "9");
    EXPECT_EQ(drain(outbox, step), "first\n" + expected + "\nlast\n");
  }
}

TEST(Outbox, shares_large_messages_and_releases_them_once_written) {
  Outbox outbox;
  const BufferRef buffer(new Buffer(200'000));
  outbox.add(message_in(buffer, std::string(100'000, 'x')), {});
  EXPECT_TRUE(buffer->use_count() > 2 || buffer->shared());
  drain(outbox, 1'000'000);
  EXPECT_EQ(buffer->use_count(), 1U);
}

TEST(Outbox, copies_small_messages) {
  Outbox outbox;
  const BufferRef buffer(new Buffer(200));
  outbox.add(message_in(buffer, "small"), {});
  EXPECT_EQ(buffer->use_count(), 1U);
  EXPECT_EQ(outbox.bytes(), 6U);
  EXPECT_EQ(drain(outbox, 100), "small\n");
}

TEST(Outbox, takes_raw_bytes_without_copying_large_ones) {
  for (const std::size_t step : {101UL, 4096UL, 1'000'000UL}) {
    Outbox outbox;
    std::string large(50'000, 'l');
    const std::string expected = "head" + large + "small" + "tail";
    const char* where = large.data();
    outbox.append("head");
    outbox.take(std::move(large));
    outbox.take("small");
    outbox.append("tail");
    EXPECT_EQ(outbox.bytes(), expected.size());
    std::array<iovec, 4> pieces;
    ASSERT_EQ(outbox.gather(pieces), 3U);
    EXPECT_EQ(pieces[1].iov_base, where);
    EXPECT_EQ(drain(outbox, step), expected);
  }
}

}  // namespace
}  // namespace mcpivot
