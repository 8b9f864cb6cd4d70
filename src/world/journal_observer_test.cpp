#include "world/journal_observer.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

class Seeing : public testing::Test {
 protected:
  void see(Seen::Way way, const Message& message, Seen::What what = Seen::What::passed,
           const Edits& edits = {}) {
    observer.saw({.way = way, .what = what, .raw = message.raw, .edits = edits.list(), .message = &message});
  }
  JournalQueue queue{100'000};
  int woken = 0;
  JournalObserver observer{queue, [this] { ++woken; }};
};

TEST_F(Seeing, a_message_that_passes_with_only_a_new_id_is_copied_once) {
  const std::string line = R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a"}})";
  const Message message = *read_message(line);
  see(Seen::Way::from_client, message);
  Edits ids;
  ids.replace(message.id, "17");
  see(Seen::Way::to_server, message, Seen::What::passed, ids);
  Edits names;
  names.replace(message.id, "17").replace(message.name, "\"b\"");
  see(Seen::Way::to_server, message, Seen::What::changed, names);
  const auto first = queue.next();
  EXPECT_EQ(first->text, line);
  EXPECT_EQ(first->id, "5");
  const auto second = queue.next();
  EXPECT_TRUE(second->head.same);
  EXPECT_EQ(second->text, "");
  EXPECT_EQ(second->head.size, line.size() + 1);
  const auto third = queue.next();
  EXPECT_FALSE(third->head.same);
  EXPECT_EQ(third->text, R"({"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"b"}})");
}

// Buffers are reused: a message may arrive where another one of the same size was.
TEST_F(Seeing, a_new_message_in_a_reused_buffer_is_not_mistaken_for_the_old_one) {
  std::string line = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  Message message = *read_message(line);
  see(Seen::Way::from_client, message);
  line[22] = '2';
  message = *read_message(line);
  see(Seen::Way::from_client, message);
  EXPECT_FALSE(queue.next()->head.same);
  const auto second = queue.next();
  EXPECT_FALSE(second->head.same);
  EXPECT_EQ(second->text, line);
}

TEST_F(Seeing, wakes_the_writer_only_if_it_sleeps) {
  const std::string line = R"({"jsonrpc":"2.0","method":"x"})";
  see(Seen::Way::from_client, *read_message(line));
  EXPECT_EQ(woken, 0);
  ASSERT_TRUE(queue.next());
  ASSERT_TRUE(queue.sleep());
  see(Seen::Way::from_client, *read_message(line));
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace mcpivot
