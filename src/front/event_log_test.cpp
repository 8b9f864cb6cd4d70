#include "front/event_log.h"

#include <gmock/gmock.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(EventLog, an_event_has_an_id_that_names_its_stream) {
  EventRoom room;
  EventLog log("a", room);
  EXPECT_EQ(log.add(7, R"({"a":1})", true), "id: a-7-1\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(log.add(0, "{}", true), "id: a-0-2\ndata: {}\n\n");
  EXPECT_EQ(log.prime(9), "id: a-9-3\nretry: 500\ndata: \n\n");
  EXPECT_EQ(log.read_id("a-7-1"), (EventLog::Place{7, 1, true}));
  EXPECT_EQ(log.read_id("b-7-1"), (EventLog::Place{7, 1, false}));
  for (const char* bad : {"", "a", "a-7", "a--1", "a-7-", "a-x-1", "a-7-1x", "a-99999999999-1", "a-7--1"})
    EXPECT_FALSE(log.read_id(bad)) << bad;
}

TEST(EventLog, data_with_line_breaks_gets_one_field_per_line) {
  EXPECT_EQ(event_text({}, "{\n\"a\":1\r\n}"), "data: {\ndata: \"a\":1\ndata: }\n\n");
}

TEST(EventLog, replays_only_later_events_of_the_same_stream) {
  EventRoom room;
  EventLog log("a", room);
  const auto first = log.add(1, "a", true);
  log.add(2, "b", true);
  const auto third = log.add(1, "c", false);
  EXPECT_THAT(log.after({1, 1}), ElementsAre(third));
  EXPECT_THAT(log.after({1, 0}), ElementsAre(first, third));
  EXPECT_THAT(log.after({3, 0}), IsEmpty());
  EXPECT_TRUE(log.has(2));
  EXPECT_FALSE(log.has(3));
}

TEST(EventLog, returns_unsent_events_once) {
  EventRoom room;
  EventLog log("a", room);
  log.add(0, "sent", true);
  const auto waits = log.add(0, "waits", false);
  EXPECT_THAT(log.unsent(0), ElementsAre(waits));
  EXPECT_THAT(log.unsent(0), IsEmpty());
}

TEST(EventLog, is_bounded_in_number_and_size) {
  EventRoom room;
  EventLog log("a", room);
  for (std::size_t i = 0; i < EventLog::most_events + 10; ++i) log.add(0, "x", false);
  EXPECT_THAT(log.unsent(0), SizeIs(EventLog::most_events));
  const std::string large(EventLog::most_bytes / 2, 'x');
  for (int i = 0; i < 5; ++i) log.add(1, large, false);
  EXPECT_THAT(log.unsent(1), SizeIs(1));
  EXPECT_FALSE(log.has(0));
}

TEST(EventLog, all_logs_together_are_bounded_and_the_largest_forgets_first) {
  EventRoom room(100'000);
  EventLog chatty("a", room);
  EventLog quiet("b", room);
  const auto kept = quiet.add(0, "something that it may come back for", false);
  for (int i = 0; i < 1000; ++i) {
    chatty.add(0, std::string(1000, 'x'), false);
    ASSERT_LE(room.bytes(), 100'000U);
  }
  EXPECT_THAT(chatty.unsent(0), SizeIs(testing::AllOf(testing::Ge(80U), testing::Le(100U))));
  EXPECT_THAT(quiet.unsent(0), ElementsAre(kept));
  EventLog another("c", room);  // as large as the first in the end
  for (int i = 0; i < 1000; ++i) another.add(0, std::string(1000, 'x'), false);
  EXPECT_THAT(another.unsent(0), SizeIs(testing::AllOf(testing::Ge(40U), testing::Le(50U))));
  EXPECT_LE(room.bytes(), 100'000U);
}

TEST(EventLog, a_deleted_log_frees_its_room_for_others) {
  EventRoom room(100'000);
  {
    EventLog gone("a", room);
    for (int i = 0; i < 90; ++i) gone.add(0, std::string(1000, 'x'), false);
    EXPECT_GT(room.bytes(), 90'000U);
  }
  EXPECT_EQ(room.bytes(), 0U);
  EventLog log("b", room);
  for (int i = 0; i < 80; ++i) log.add(0, std::string(1000, 'x'), false);
  EXPECT_THAT(log.unsent(0), SizeIs(80));
}

TEST(EventLog, an_event_larger_than_all_the_room_is_sent_but_not_kept) {
  EventRoom room(1000);
  EventLog log("a", room);
  EXPECT_THAT(log.add(0, std::string(2000, 'x'), true), SizeIs(testing::Gt(2000U)));
  EXPECT_FALSE(log.has(0));
  EXPECT_EQ(room.bytes(), 0U);
}

}  // namespace
}  // namespace mcpivot
