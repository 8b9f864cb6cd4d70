#include "rpc/request_table.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace mcpivot {
namespace {

class StoppedClock final : public Clock {
 public:
  Time now() const override { return {}; }
  Date date() const override { return {}; }
};
const StoppedClock stopped;

struct Table : RequestTable<int> {
  Table() : RequestTable(stopped) {}
};

// A request with this id, as it would come in.
struct Incoming {
  std::string line;
  Message message;
  explicit Incoming(const std::string& id, const std::string& params = "{}")
      : line(R"({"jsonrpc":"2.0","method":"m","id":)" + id + R"(,"params":)" + params + "}"),
        message(*read_message(line)) {}
};
std::int64_t add(Table& table, const std::string& id, int origin = 1) {
  return table.add(Incoming(id).message, origin);
}

TEST(RequestTable, returns_each_request_once) {
  Table table;
  const auto a = add(table, "\"a\"");
  const auto b = add(table, "7");
  EXPECT_NE(a, b);
  EXPECT_EQ(table.take(b)->id(), "7");
  EXPECT_FALSE(table.take(b));
  EXPECT_EQ(table.take(a)->id(), "\"a\"");
  EXPECT_FALSE(table.take(0));
  EXPECT_FALSE(table.take(12345));
  EXPECT_EQ(table.size(), 0U);
}

TEST(RequestTable, a_small_table_holds_as_many_requests_as_any_other) {
  auto table = RequestTable<int>::small(stopped);
  std::vector<std::int64_t> ids;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1000; ++i) ids.push_back(table.add(Incoming(std::to_string(i)).message, i));
    EXPECT_EQ(table.size(), 1000U);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(table.take(ids[static_cast<std::size_t>(i)])->origin, i);
    ids.clear();
    EXPECT_EQ(table.size(), 0U);
  }
}

TEST(RequestTable, a_request_that_is_never_answered_does_not_affect_others) {
  Table table;
  const auto stuck = add(table, "\"stuck\"");
  std::int64_t last = stuck;
  for (int i = 0; i < 100'000; ++i) {
    const auto id = add(table, "0");
    ASSERT_GT(id, last);
    last = id;
    ASSERT_TRUE(table.take(id));
  }
  EXPECT_LT(last, 110'000) << "ids should stay small";
  EXPECT_EQ(table.take(stuck)->id(), "\"stuck\"");
}

TEST(RequestTable, holds_many_requests_and_returns_them_in_order) {
  Table table;
  for (int i = 0; i < 10'000; ++i) add(table, std::to_string(i), i % 2);
  const auto odd = table.take_if([](const auto& open) { return open.origin == 1; });
  ASSERT_EQ(odd.size(), 5'000U);
  for (std::size_t i = 0; i < odd.size(); ++i) ASSERT_EQ(odd[i].request.id(), std::to_string(2 * i + 1));
  EXPECT_EQ(table.size(), 5'000U);
}

TEST(RequestTable, finds_a_request_by_its_senders_id) {
  Table table;
  add(table, "1", 1);
  const auto other = add(table, "1", 2);
  EXPECT_EQ(table.find_original("1", [](int origin) { return origin == 2; }), other);
  EXPECT_EQ(table.find_original("2", [](int) { return true; }), 0);
}

TEST(RequestTable, the_token_of_a_task_outlives_its_response) {
  Table table;
  const Incoming task("1", R"({"_meta":{"progressToken":"t"},"task":{}})");
  const Incoming plain("2", R"({"_meta":{"progressToken":5}})");
  const auto id = table.add(task.message, 1);
  const auto other = table.add(plain.message, 1);
  EXPECT_EQ(table.find_token(other)->text, "5");
  for (const auto answered : {id, other}) {
    table.keep_token(answered, 7);
    table.take(answered);
  }
  EXPECT_EQ(table.find_token(id)->text, "\"t\"");
  EXPECT_EQ(table.find_token(id)->origin, 7) << "the client that asked may be gone by then";
  EXPECT_FALSE(table.find_token(other));
  for (int i = 0; i < 2'000; ++i) {
    const auto next = table.add(task.message, 1);
    table.keep_token(next, 1);
    table.take(next);
  }
  EXPECT_FALSE(table.find_token(id)) << "the oldest are forgotten";
}

TEST(RequestTable, recognizes_its_own_ids_however_a_peer_spells_them) {
  EXPECT_EQ(own_id("7"), 7);
  EXPECT_EQ(own_id("7.0"), 7);
  EXPECT_EQ(own_id("7e0"), 7);
  EXPECT_EQ(own_id("7.5"), 0);
  EXPECT_EQ(own_id("\"7\""), 0);
  EXPECT_EQ(own_id(""), 0);
  EXPECT_EQ(own_id("1e300"), 0);
  EXPECT_EQ(IdText(1234567890123).view(), "1234567890123");
}

TEST(RequestTable, a_held_request_keeps_its_address_while_the_table_grows) {
  Table table;
  const std::int64_t own = add(table, "\"first\"");
  {
    const Table::Hold hold(table);
    const Table::Request* const held = table.find(own);
    for (int i = 0; i < 1000; ++i) add(table, "0", 2);
    EXPECT_EQ(held->id(), "\"first\"");
    EXPECT_EQ(held->origin, 1);
    EXPECT_EQ(table.find(own)->id(), "\"first\"");
    table.close(own);
  }
  EXPECT_EQ(table.find(own), nullptr);
  EXPECT_EQ(table.size(), 1000U);
}

struct ByOrigin {
  std::map<int, int> open{};
  void opened(int origin) { ++open[origin]; }
  void closed(int origin) { --open[origin]; }
};

TEST(RequestTable, a_tally_counts_the_open_requests_of_each_origin_however_they_end) {
  RequestTable<int, ByOrigin> table(stopped);
  const auto add = [&](int origin) { return table.add(Incoming("1").message, origin); };
  const auto open = [&](int origin) { return table.tally().open[origin]; };
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(add(i % 2));  // so many that it grows
  EXPECT_EQ(open(0), 100);
  EXPECT_EQ(open(1), 100);
  table.close(ids[0]);
  table.close(ids[0]);
  EXPECT_EQ(open(0), 99) << "closed once";
  table.take(ids[1]);
  table.take(ids[1]);
  EXPECT_EQ(open(1), 99) << "taken once";
  table.take_if([](const auto& request) { return request.origin == 0; });
  EXPECT_EQ(open(0), 0);
  EXPECT_EQ(open(1), 99);
}

}  // namespace
}  // namespace mcpivot
