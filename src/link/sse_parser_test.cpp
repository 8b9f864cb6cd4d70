#include "link/sse_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Seen {
  std::vector<std::string> events;  // "type|data"
  std::string last_id;
};

Seen parse(std::string_view text, std::size_t step, std::size_t limit = 1000) {
  SseParser parser(limit);
  Seen seen;
  for (std::size_t at = 0; at < text.size(); at += step) {
    std::string_view piece = text.substr(at, step);
    while (auto event = parser.next(piece))
      seen.events.push_back(event->type + "|" +
                            (event->over ? "over " + event->over->id() : std::string(event->data)));
  }
  seen.last_id = parser.last_id();
  return seen;
}

TEST(SseParser, finds_the_same_events_however_the_stream_is_split) {
  const std::string stream =
      "\xEF\xBB\xBF: a comment\n\nevent: message\nid: 7\ndata: {\"a\":\n"
      "data:1}\n\ndata: plain\r\nignored: x\r\n\r\n"
      "id: 8\rdata:  two blanks\r\rretry: 250\n\ndata\n\nevent: endpoint\ndata: /m\xC3\xBC\n\nid: 9\ndata: "
      "\n\n";
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    const Seen seen = parse(stream, step);
    EXPECT_THAT(seen.events,
                ElementsAre("message|{\"a\":\n1}", "|plain", "| two blanks", "endpoint|/m\xC3\xBC"))
        << step;
    EXPECT_EQ(seen.last_id, "9");
  }
}

TEST(SseParser, an_incomplete_event_is_dropped_with_its_id) {
  const Seen seen = parse("id: 1\ndata: a\n\nid: 2\ndata: {\"half\":\"\xC3", 3);
  EXPECT_THAT(seen.events, ElementsAre("|a"));
  EXPECT_EQ(seen.last_id, "1");
}

TEST(SseParser, an_event_over_the_limit_is_skimmed_and_the_next_one_is_read) {
  const std::string huge = R"(data: {"jsonrpc":"2.0","id":5,"result":")" + std::string(5000, 'x') + "\"}\n\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{64}, std::size_t{10'000}})
    EXPECT_THAT(parse(huge + "data: next\n\n", step, 100).events, ElementsAre("|over 5", "|next"));
}

TEST(SseParser, remembers_the_reconnection_time_and_drops_too_long_ids) {
  SseParser parser(100);
  const std::string stream = "retry: 1500\nid: " + std::string(SseParser::longest_id + 1, 'i') +
                             "\nretry: soon\nretry: 99999999999\ndata: x\n\n";
  std::string_view piece = stream;
  ASSERT_TRUE(parser.next(piece));
  EXPECT_EQ(parser.retry(), std::chrono::milliseconds(1500));
  EXPECT_THAT(parser.last_id(), IsEmpty());
}

TEST(SseParser, restarts_after_a_disconnect_but_keeps_the_last_id) {
  SseParser parser(100);
  std::string_view piece = "id: 4\ndata: x\n\nevent: y\ndata: {\"half";
  ASSERT_TRUE(parser.next(piece));
  EXPECT_FALSE(parser.next(piece));
  parser.restart();
  EXPECT_EQ(parser.last_id(), "4");
  piece = "data: whole\n\n";
  const auto event = parser.next(piece);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data, "whole");
  EXPECT_EQ(event->type, "");
}

TEST(SseParser, does_not_overwrite_data_that_is_still_in_use) {
  SseParser parser(100);
  std::string_view piece = "data: first\n\ndata: other\n\n";
  const auto first = parser.next(piece);
  const BufferRef kept = parser.buffer();
  const auto second = parser.next(piece);
  EXPECT_EQ(first->data, "first");
  EXPECT_EQ(second->data, "other");
}

}  // namespace
}  // namespace mcpivot
