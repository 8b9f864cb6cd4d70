#include "journal/call_book.h"

#include <gmock/gmock.h>

#include "journal/journal_fixture.h"

namespace mcpivot {
namespace {

using Way = JournalEntry::Way;
using What = JournalEntry::What;
using Outcome = RecordedCall::Outcome;

class Book : public testing::Test {
 protected:
  JournalRows rows() {
    while (const auto entry = queue.next()) book.take(*entry, 0);
    queue.drop();
    return book.rows();
  }
  JournalQueue queue{1 << 20};
  JournalFeed feed{queue};
  CallBook book{Redactor({{"KEY", "topsecret"}}, {})};
};

TEST_F(Book, a_call_and_its_response_become_a_row) {
  feed.call(7, "echo", R"({"a":1})", "fine");
  const JournalRows all = rows();
  ASSERT_EQ(all.calls.size(), 1U);
  const CallRow& call = all.calls[0];
  EXPECT_EQ(call.tool, "echo");
  EXPECT_EQ(call.server, "dev");
  EXPECT_EQ(call.outcome, Outcome::ok);
  EXPECT_EQ(call.took, 3000);
  EXPECT_EQ(std::tie(call.request, call.sent, call.received, call.answer), std::make_tuple(1, 2, 3, 4));
  ASSERT_EQ(all.messages.size(), 4U);
  for (const MessageRow& message : all.messages) EXPECT_EQ(message.call, 1);
  EXPECT_EQ(all.messages[1].same_as, 1);
  EXPECT_EQ(all.messages[3].same_as, 3);
  EXPECT_FALSE(all.messages[3].text);
  EXPECT_EQ(book.open_calls(), 0U);
}

TEST_F(Book, the_duration_of_a_call_is_right_even_if_the_clock_is_set) {
  constexpr std::int64_t hour = 3'600'000'000;
  feed.ask(1, "slow", "{}");
  while (const auto entry = queue.next()) book.take(*entry, 2 * hour);
  feed.answer(1, "x");
  while (const auto entry = queue.next()) book.take(*entry, hour);
  EXPECT_EQ(book.rows().calls.at(0).took, 3000);
}

TEST_F(Book, an_unanswered_call_is_open_and_written_again_when_it_ends) {
  feed.ask(1, "slow", "{}");
  const JournalRows first = rows();
  ASSERT_EQ(first.calls.size(), 1U);
  EXPECT_EQ(first.calls[0].outcome, Outcome::open);
  EXPECT_TRUE(rows().calls.empty());
  feed.answer(1, "no", true);
  const JournalRows second = rows();
  ASSERT_EQ(second.calls.size(), 1U);
  EXPECT_EQ(second.calls[0].id, first.calls[0].id);
  EXPECT_EQ(second.calls[0].outcome, Outcome::tool_error);
}

TEST_F(Book, mcpivots_own_response_ends_only_that_clients_call) {
  for (const std::uint64_t client : {1, 2})
    for (const std::uint32_t exchange : {1, 2})
      feed.put({.way = Way::from_client,
                .kind = JournalEntry::Kind::request,
                .client = client,
                .id = "5",
                .text = JournalFeed::call_text(5, "pivot_status", "{}"),
                .exchange = exchange});
  feed.put({.way = Way::to_client,
            .what = What::made,
            .client = 2,
            .text = JournalFeed::result_text(5, "x"),
            .exchange = 2});
  const JournalRows all = rows();
  EXPECT_EQ(all.calls.front().id, 4);
  EXPECT_EQ(all.calls.front().outcome, Outcome::ok);
  EXPECT_EQ(all.calls.front().server, "");
  EXPECT_EQ(book.open_calls(), 3U);
}

TEST_F(Book, a_retried_call_belongs_to_the_generation_that_answers) {
  feed.ask(1, "look", "{}");
  feed.put({.way = Way::to_server,
            .what = What::retried,
            .kind = JournalEntry::Kind::request,
            .id = "1",
            .server = "dev",
            .pair = 1,
            .text = JournalFeed::call_text(1, "look", "{}"),
            .birth = 2});
  feed.put({.way = Way::to_client,
            .kind = JournalEntry::Kind::result,
            .id = "1",
            .pair = 1,
            .text = JournalFeed::result_text(1, "x"),
            .birth = 2});
  const JournalRows all = rows();
  ASSERT_EQ(all.calls.size(), 1U);
  EXPECT_EQ(all.calls[0].retries, 1);
  EXPECT_EQ(all.calls[0].generation, 2);
  EXPECT_EQ(all.calls[0].outcome, Outcome::ok);
}

TEST_F(Book, a_call_that_its_client_cancels_is_cancelled) {
  feed.ask(1, "slow", "{}");
  feed.put({.way = Way::from_client,
            .what = What::cancelled,
            .kind = JournalEntry::Kind::notification,
            .id = "1",
            .text = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"});
  EXPECT_EQ(rows().calls.at(0).outcome, Outcome::cancelled);
}

TEST_F(Book, a_question_belongs_to_the_call_during_which_it_is_asked) {
  feed.ask(1, "ask", "{}");
  const std::string question =
      R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}})";
  feed.put({.way = Way::from_server,
            .kind = JournalEntry::Kind::request,
            .id = "\"q\"",
            .server = "dev",
            .text = question});
  feed.put(
      {.way = Way::to_client, .kind = JournalEntry::Kind::request, .id = "\"q\"", .pair = 9, .same = true});
  feed.put({.way = Way::from_client,
            .kind = JournalEntry::Kind::result,
            .id = "9",
            .pair = 9,
            .text = R"({"jsonrpc":"2.0","id":9,"result":{"action":"accept"}})"});
  feed.put(
      {.way = Way::to_server, .kind = JournalEntry::Kind::result, .server = "dev", .pair = 9, .same = true});
  feed.answer(1, "thanks");
  for (const MessageRow& message : rows().messages) EXPECT_EQ(message.call, 1) << message.id;
}

// A legacy client and a modern server: the bridge asks the client, and retries the call with its answer.
TEST_F(Book, a_call_of_several_rounds_ends_with_its_last_response) {
  const auto bridged = [&](Way way, JournalEntry::Kind kind, std::int64_t pair, const std::string& text) {
    feed.put({.way = way,
              .kind = kind,
              .server = way == Way::from_server || way == Way::to_server ? "dev" : "",
              .pair = pair,
              .text = text,
              .bridged = way == Way::from_server});
  };
  feed.ask(1, "ask", "{}");
  bridged(Way::from_server, JournalEntry::Kind::result, 101,
          R"({"jsonrpc":"2.0","id":101,"result":{"resultType":"input_required","inputRequests":{}}})");
  bridged(Way::to_client, JournalEntry::Kind::request, 9,
          R"({"jsonrpc":"2.0","id":9,"method":"roots/list"})");
  bridged(Way::from_client, JournalEntry::Kind::result, 9,
          R"({"jsonrpc":"2.0","id":9,"result":{"roots":[]}})");
  bridged(Way::from_server, JournalEntry::Kind::result, 0,
          R"({"jsonrpc":"2.0","id":"retry","result":{"content":[]}})");
  feed.put({.way = Way::to_client, .kind = JournalEntry::Kind::result, .pair = 101, .same = true});
  const JournalRows all = rows();
  for (const MessageRow& message : all.messages) EXPECT_EQ(message.call, 1) << message.id;
  ASSERT_EQ(all.calls.size(), 1U);
  EXPECT_EQ(all.calls[0].received, 6);
  EXPECT_EQ(all.calls[0].outcome, Outcome::ok);
}

TEST_F(Book, a_gap_makes_open_calls_incomplete) {
  feed.ask(1, "slow", "{}");
  EXPECT_TRUE(rows().calls.at(0).complete);
  JournalEntry gap;
  gap.head.size = 12;
  book.take(gap, 0);
  feed.answer(1, "x");
  feed.call(2, "fast", "{}", "x");
  const JournalRows all = rows();
  ASSERT_EQ(all.gaps.size(), 1U);
  EXPECT_EQ(all.gaps[0].messages, 12U);
  EXPECT_EQ(all.gaps[0].after, 2);
  EXPECT_FALSE(all.calls.at(0).complete);
  EXPECT_TRUE(all.calls.at(1).complete);
}

TEST_F(Book, the_annotations_of_tools_are_taken_from_the_servers_lists) {
  std::string deep = "1";
  for (int i = 0; i < 100; ++i) deep = R"({"items":)" + deep + "}";
  feed.put({.way = Way::to_server,
            .what = What::made,
            .client = 0,
            .server = "dev",
            .pair = 3,
            .text = R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})"});
  feed.put(
      {.way = Way::from_server,
       .kind = JournalEntry::Kind::result,
       .client = 0,
       .id = "3",
       .server = "dev",
       .pair = 3,
       .text =
           R"({"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a","annotations":{"readOnlyHint":true}},{"name":"b","inputSchema":)" +
           deep + "}]}}"});
  const JournalRows all = rows();
  ASSERT_EQ(all.tools.size(), 2U);
  EXPECT_EQ(all.tools[0].annotations, R"({"readOnlyHint":true})");
  EXPECT_EQ(all.tools[1].annotations, "{}");
}

TEST_F(Book, clients_have_the_names_from_their_initialize) {
  feed.put(
      {.way = Way::from_client,
       .kind = JournalEntry::Kind::request,
       .id = "0",
       .text =
           R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"claude-code"}}})"});
  feed.ask(1, "x", "{}");
  const JournalRows all = rows();
  EXPECT_EQ(all.calls.at(1).client_name, "claude-code");
}

TEST_F(Book, requests_from_terminals_to_mcpivot_are_not_recorded) {
  feed.put({.way = Way::from_client,
            .kind = JournalEntry::Kind::request,
            .client = 5,
            .id = "1",
            .text = R"({"jsonrpc":"2.0","id":1,"method":"status"})",
            .terminal = true});
  feed.put(
      {.way = Way::to_client, .what = What::made, .client = 5, .text = JournalFeed::result_text(1, "x")});
  feed.call(1, "echo", "{}", "x");
  feed.put({.way = Way::from_client,
            .kind = JournalEntry::Kind::request,
            .client = 5,
            .id = "2",
            .text = JournalFeed::call_text(2, "pivot_restart", "{}"),
            .terminal = true});
  const JournalRows all = rows();
  EXPECT_EQ(all.messages.size(), 5U);
  EXPECT_EQ(all.messages.at(0).id, 1);
  ASSERT_EQ(all.calls.size(), 2U);
  EXPECT_EQ(all.calls.at(1).client_name, "terminal");
}

// A server may have methods of its own, with any name.
TEST_F(Book, requests_from_clients_are_recorded_whatever_their_method) {
  feed.call(1, "echo", "{}", "x");
  feed.put({.way = Way::from_client,
            .kind = JournalEntry::Kind::request,
            .id = "2",
            .text = R"({"jsonrpc":"2.0","id":2,"method":"status"})"});
  feed.put({.way = Way::to_server,
            .kind = JournalEntry::Kind::request,
            .id = "2",
            .server = "dev",
            .pair = 102,
            .same = true});
  const JournalRows all = rows();
  ASSERT_EQ(all.messages.size(), 6U);
  EXPECT_EQ(all.messages.at(4).method, "status");
  EXPECT_EQ(all.messages.at(5).same_as, 5);
  EXPECT_EQ(all.calls.back().method, "status");
}

TEST_F(Book, however_many_terminals_came_by_a_client_has_its_name) {
  for (std::uint64_t terminal = 10; terminal < 20'010; ++terminal) {
    feed.put({.way = Way::from_client,
              .kind = JournalEntry::Kind::request,
              .client = terminal,
              .id = "1",
              .text = R"({"jsonrpc":"2.0","id":1,"method":"status"})",
              .terminal = true});
    rows();
  }
  for (std::uint64_t client = 30'000; client < 45'000; ++client) {
    feed.put(
        {.way = Way::from_client,
         .kind = JournalEntry::Kind::request,
         .client = client,
         .id = "0",
         .text =
             R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"claude-code"}}})"});
    rows();
  }
  feed.put({.way = Way::from_client,
            .kind = JournalEntry::Kind::request,
            .client = 44'999,
            .id = "1",
            .text = JournalFeed::call_text(1, "echo", "{}")});
  EXPECT_EQ(rows().calls.back().client_name, "claude-code");
}

TEST_F(Book, tells_of_an_ended_call_what_was_asked_and_answered_without_secrets) {
  std::vector<std::string> told;
  CallBook telling{Redactor({{"KEY", "topsecret"}}, {}), [&](const CallBook::Ended& ended) {
                     told = {std::string(ended.id), std::string(ended.arguments), std::string(ended.answer)};
                   }};
  const auto take_all = [&] {
    while (const auto entry = queue.next()) telling.take(*entry, 0);
    queue.drop();
  };
  feed.call(7, "echo", R"({"a":"topsecret"})", "it is topsecret");
  take_all();
  EXPECT_EQ(told, (std::vector<std::string>{"7", R"({"a":"[redacted KEY]"})",
                                            JournalFeed::result_text(107, "it is [redacted KEY]")}));
  // What was received has been given out as a row before the client gets it.
  feed.ask(8, "echo", R"({"a":")" + std::string(100'000, 'x') + R"("})");
  feed.answer(8, "topsecret");
  for (int i = 0; i < 3; ++i) telling.take(*queue.next(), 0);
  EXPECT_EQ(telling.rows().messages.size(), 7U);
  take_all();
  EXPECT_EQ(told.at(1).size(), 1'000U) << "a call may stay open for long";
  EXPECT_EQ(told.at(2), JournalFeed::result_text(108, "[redacted KEY]"));
}

TEST_F(Book, forgets_unanswered_calls_oldest_first) {
  constexpr std::int64_t apart = 1000;  // more than the ids of a request and its answer
  for (std::int64_t i = 1; i <= 20'001; ++i) {
    feed.ask(i * apart, "echo", "{}");
    if (i % 1000 == 0) rows();
  }
  rows();
  EXPECT_EQ(book.open_calls(), 20'000U);
  feed.answer(apart, "too late");
  feed.answer(2 * apart, "in time");
  const JournalRows all = rows();
  EXPECT_EQ(book.open_calls(), 19'999U);
  ASSERT_EQ(all.calls.size(), 1U);
  EXPECT_EQ(all.calls[0].id, 2);
}

TEST_F(Book, secrets_reach_no_row) {
  feed.call(1, "topsecret", R"({"k":"topsecret"})", "it is topsecret");
  feed.put({.way = Way::from_server,
            .what = What::refused,
            .server = "dev",
            .text = "topsecret!",
            .why = "topsecret?"});
  const JournalRows all = rows();
  for (const MessageRow& row : all.messages) {
    EXPECT_EQ(row.text.value_or("").find("topsecret"), std::string::npos);
    EXPECT_EQ(row.why.find("topsecret"), std::string::npos);
  }
  EXPECT_EQ(all.calls.at(0).name, "[redacted KEY]");
  EXPECT_EQ(all.messages[0].redacted, 2U);
}

}  // namespace
}  // namespace mcpivot
