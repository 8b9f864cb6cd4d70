#include "server/waiting_room.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "rpc/answers.h"
#include "virtual_time.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class Room : public testing::Test {
 protected:
  // A request of this client with about this many bytes.
  bool add(int client, int id, std::size_t bytes = 0) {
    const std::string line = request_line(std::to_string(id), "tools/call",
                                          fmt::format(R"({{"x":"{}"}})", std::string(bytes, 'x')));
    return room.add({.client = static_cast<ClientId>(client)}, *read_message(line), {});
  }
  static int id_of(const WaitingRoom::Waiting& waiting) {
    const Message message = waiting.message.message();
    return std::stoi(std::string(message.text(message.id)));
  }
  std::size_t count_of(int client) {
    std::size_t count = 0;
    for (const auto& one : room.take_all())
      if (one.asker.client == static_cast<ClientId>(client)) ++count;
    return count;
  }
  static constexpr int most = static_cast<int>(WaitingRoom::most_waiting);

  simulation::VirtualTime time;
  std::vector<int> overdue, crowded_out;
  WaitingRoom room{time, 1000ms, [this](const auto& one) { overdue.push_back(id_of(one)); },
                   [this](const auto& one) { crowded_out.push_back(id_of(one)); }};
};

TEST_F(Room, keeps_each_requests_time_limit_when_an_earlier_one_leaves) {
  const auto pass = [this](std::chrono::milliseconds span) {
    const auto until = time.now() + span;
    while (time.step(until)) {
    }
  };
  add(1, 1);
  add(3, 3);
  pass(600ms);
  add(2, 2);
  const std::string cancelled = cancellation("1", "never mind");
  EXPECT_TRUE(room.cancel({.client = static_cast<ClientId>(1)}, *read_message(cancelled)));
  room.forget(static_cast<ClientId>(3));
  pass(999ms);
  EXPECT_THAT(overdue, IsEmpty());
  pass(1ms);
  EXPECT_THAT(overdue, ElementsAre(2));
}

TEST_F(Room, is_full_for_the_client_that_filled_it) {
  for (int i = 0; i < most; ++i) ASSERT_TRUE(add(1, i));
  EXPECT_FALSE(add(1, most));
  EXPECT_THAT(crowded_out, IsEmpty());
  EXPECT_EQ(room.size(), WaitingRoom::most_waiting);
}

TEST_F(Room, drops_the_latest_request_of_the_greediest_client_for_another) {
  for (int i = 0; i < most; ++i) add(1, i);
  EXPECT_TRUE(add(2, 5000));
  EXPECT_TRUE(add(2, 5001));
  EXPECT_THAT(crowded_out, ElementsAre(most - 1, most - 2));
  EXPECT_EQ(room.size(), WaitingRoom::most_waiting);
}

TEST_F(Room, is_divided_evenly_between_clients_that_want_all_of_it) {
  for (int i = 0; i < most; ++i) add(1, i);
  for (int i = 0; i < most; ++i) add(2, i);
  EXPECT_EQ(count_of(1), WaitingRoom::most_waiting / 2);
}

TEST_F(Room, also_counts_bytes) {
  const std::size_t half = WaitingRoom::bytes_of_a_place * WaitingRoom::most_waiting / 2;
  ASSERT_TRUE(add(1, 1, half - 1000));
  ASSERT_TRUE(add(1, 2, half / 2));
  EXPECT_FALSE(add(1, 3, half)) << "too much of one";
  EXPECT_TRUE(add(1, 4)) << "there is room for a short one";
  EXPECT_TRUE(add(2, 5, half / 2 + 1000));
  EXPECT_THAT(crowded_out, ElementsAre(4, 2));
}

TEST_F(Room, drops_nobodys_request_for_a_client_that_uses_more) {
  const std::size_t most_bytes = WaitingRoom::bytes_of_a_place * WaitingRoom::most_waiting;
  for (int i = 0; i < most / 2; ++i) add(1, i);
  EXPECT_FALSE(add(2, 5000, most_bytes));
  EXPECT_FALSE(add(2, 5001, most_bytes / 4 * 3));
  EXPECT_THAT(crowded_out, IsEmpty());
}

TEST_F(Room, releases_the_first_request_whose_client_may_go) {
  for (int i = 0; i < 6; ++i) add(1 + i % 2, i);
  const auto second = [](ClientId client) { return client == static_cast<ClientId>(2); };
  EXPECT_EQ(id_of(*room.take_first(second)), 1);
  EXPECT_EQ(id_of(*room.take_first(second)), 3);
  EXPECT_EQ(room.size(), 4U);
}

TEST_F(Room, reports_each_request_that_waits_too_long_once) {
  add(1, 1);
  add(2, 2);
  while (time.step(time.now() + 2s)) continue;
  EXPECT_THAT(overdue, ElementsAre(1, 2));
  EXPECT_EQ(time.set(), 0U);
}

TEST_F(Room, also_reports_notifications) {
  std::vector<std::string> late, gone;
  WaitingRoom other{time, 1000ms, [&](const auto& one) { late.emplace_back(one.message.raw()); },
                    [&](const auto& one) { gone.emplace_back(one.message.raw()); }};
  const std::string line = request_line({}, "notifications/x", {});
  const std::string request = request_line("1", "tools/call", {});
  for (int i = 0; i < most; ++i) other.add({}, *read_message(line), {});
  EXPECT_TRUE(other.add({.client = static_cast<ClientId>(1)}, *read_message(request), {}));
  EXPECT_THAT(gone, ElementsAre(line));
  while (time.step(time.now() + 2s)) continue;
  EXPECT_EQ(late.size(), WaitingRoom::most_waiting);
}

}  // namespace
}  // namespace mcpivot
