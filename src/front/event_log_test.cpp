#include "front/event_log.h"

#include <gmock/gmock.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(EventLog, an_event_has_an_id_that_names_its_stream) {
  EventLog log("a");
  EXPECT_EQ(log.add(7, R"({"a":1})", true), "id: a-7-1\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(log.add(0, "{}", true), "id: a-0-2\ndata: {}\n\n");
  EXPECT_EQ(log.prime(9), "id: a-9-3\nretry: 500\ndata: \n\n");
  EXPECT_EQ(log.read_id("a-7-1"), (EventLog::Place{7, 1, true}));
  EXPECT_EQ(log.read_id("b-7-1"), (EventLog::Place{7, 1, false}));
  for (const char* bad : {"", "a", "a-7", "a--1", "a-7-", "a-x-1", "a-7-1x", "a-99999999999-1", "a-7--1"})
    EXPECT_FALSE(log.read_id(bad)) << bad;
}

TEST(EventLog, data_with_line_breaks_has_a_field_for_each_line) {
  EXPECT_EQ(event_text({}, "{\n\"a\":1\r\n}"), "data: {\ndata: \"a\":1\ndata: }\n\n");
}

TEST(EventLog, what_comes_behind_an_event_is_of_its_own_stream_alone) {
  EventLog log("a");
  const auto first = log.add(1, "a", true);
  log.add(2, "b", true);
  const auto third = log.add(1, "c", false);
  EXPECT_THAT(log.after({1, 1}), ElementsAre(third));
  EXPECT_THAT(log.after({1, 0}), ElementsAre(first, third));
  EXPECT_THAT(log.after({3, 0}), IsEmpty());
  EXPECT_TRUE(log.has(2));
  EXPECT_FALSE(log.has(3));
}

TEST(EventLog, what_was_never_sent_is_sent_once) {
  EventLog log("a");
  log.add(0, "sent", true);
  const auto waits = log.add(0, "waits", false);
  EXPECT_THAT(log.unsent(0), ElementsAre(waits));
  EXPECT_THAT(log.unsent(0), IsEmpty());
}

TEST(EventLog, is_bounded_in_number_and_size) {
  EventLog log("a");
  for (std::size_t i = 0; i < EventLog::most_events + 10; ++i) log.add(0, "x", false);
  EXPECT_THAT(log.unsent(0), SizeIs(EventLog::most_events));
  const std::string large(EventLog::most_bytes / 2, 'x');
  for (int i = 0; i < 5; ++i) log.add(1, large, false);
  EXPECT_THAT(log.unsent(1), SizeIs(1));
  EXPECT_FALSE(log.has(0));
}

}  // namespace
}  // namespace mcpivot
