#include "journal/journal_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "host/comes_true.h"

namespace mcpivot {
namespace {

bool put(JournalQueue& queue, std::int64_t number, std::string_view text) {
  const JournalEntry::Head head{.way = JournalEntry::Way::from_client,
                                .when = number,
                                .text_size = static_cast<std::uint32_t>(text.size())};
  char* const at = queue.room(head);
  if (at == nullptr) return false;
  std::memcpy(at, text.data(), text.size());
  queue.publish();
  return true;
}

TEST(JournalQueue, returns_entries_in_order) {
  JournalQueue queue(1 << 20);
  EXPECT_FALSE(queue.next());
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(put(queue, i, std::string(static_cast<std::size_t>(i), 'x')));
  for (int i = 0; i < 1000; ++i) {
    const auto entry = queue.next();
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->head.when, i);
    EXPECT_EQ(entry->text, std::string(static_cast<std::size_t>(i), 'x'));
  }
  EXPECT_FALSE(queue.next());
  queue.drop();
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(JournalQueue, holds_a_message_that_is_larger_than_a_block) {
  JournalQueue queue(1 << 20);
  const std::string large(500'000, 'y');
  ASSERT_TRUE(put(queue, 1, "small"));
  ASSERT_TRUE(put(queue, 2, large));
  ASSERT_TRUE(put(queue, 3, "small"));
  EXPECT_EQ(queue.next()->text, "small");
  EXPECT_EQ(queue.next()->text, large);
  EXPECT_EQ(queue.next()->text, "small");
}

TEST(JournalQueue, entries_that_do_not_fit_are_counted_and_replaced_by_the_count) {
  JournalQueue queue(10'000);
  int taken = 0;
  while (put(queue, taken, std::string(1000, 'z'))) ++taken;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(put(queue, 100, "small"));  // small ones don't overtake large ones
  for (int i = 0; i < taken; ++i) ASSERT_TRUE(queue.next());
  EXPECT_FALSE(queue.next());
  queue.drop();
  EXPECT_TRUE(put(queue, 200, "after"));
  const auto gap = queue.next();
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->head.way, JournalEntry::Way::gap);
  EXPECT_EQ(gap->head.size, 5U);
  EXPECT_EQ(queue.next()->text, "after");
}

TEST(JournalQueue, the_reader_does_not_sleep_if_an_entry_just_arrived) {
  JournalQueue queue(10'000);
  EXPECT_TRUE(queue.sleep());
  EXPECT_TRUE(queue.is_asleep());
  put(queue, 1, "x");
  queue.wake();
  EXPECT_FALSE(queue.sleep());
  EXPECT_FALSE(queue.is_asleep());
}

TEST(JournalQueue, two_threads_lose_only_entries_that_are_counted) {
  JournalQueue queue(200'000);
  constexpr std::int64_t all = 200'000;
  std::atomic<std::uint64_t> missing = 0;
  std::thread loop([&] {
    for (std::int64_t i = 0; i < all; ++i) put(queue, i, std::string_view("0123456789").substr(0, i % 10));
    EXPECT_TRUE(host::comes_true([&] { return queue.bytes() == 0; })) << "nothing is taken";
    missing = queue.take_missing();
    put(queue, all, "end");
  });
  std::int64_t seen = 0;
  std::int64_t last = -1;
  for (bool done = false; !done;) {
    while (const auto entry = queue.next()) {
      if (entry->text == "end") {
        done = true;
        break;
      }
      if (entry->head.way == JournalEntry::Way::gap) {
        seen += static_cast<std::int64_t>(entry->head.size);
        continue;
      }
      ASSERT_GT(entry->head.when, last);
      last = entry->head.when;
      ASSERT_EQ(entry->text.size(), static_cast<std::size_t>(last % 10));
      ++seen;
    }
    queue.drop();
  }
  loop.join();
  EXPECT_EQ(seen + static_cast<std::int64_t>(missing), all);
}

}  // namespace
}  // namespace mcpivot
