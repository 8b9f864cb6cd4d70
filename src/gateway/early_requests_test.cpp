#include "gateway/early_requests.h"

#include <gmock/gmock.h>

#include <set>

#include "virtual_time.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class EarlyRequestsTest : public testing::Test {
 protected:
  static Asker asker(int client) { return {.client = static_cast<ClientId>(client)}; }
  void wait(const std::string& id, std::vector<std::string> servers, int client = 1) {
    early_.wait(
        asker(client), id, [servers = std::move(servers)] { return servers; },
        [this, id] { answered_.push_back(id); });
  }
  void is_ready(const std::string& server) {
    starting_.erase(server);
    early_.look();
    pass(0ms);
  }

  void pass(std::chrono::milliseconds time) {
    const auto until = time_.now() + time;
    while (time_.step(until)) {
    }
  }

  static std::vector<std::string> alpha() { return {"alpha"}; }

  simulation::VirtualTime time_;
  std::set<std::string> starting_{"alpha", "beta"};
  std::vector<std::string> answered_;
  EarlyRequests early_{time_, [this](const std::string& server) { return starting_.contains(server); }};
};

TEST_F(EarlyRequestsTest, a_request_that_needs_no_starting_server_does_not_wait) {
  wait("1", {});
  wait("2", {"gamma"});
  EXPECT_THAT(answered_, ElementsAre("1", "2"));
  EXPECT_EQ(time_.set(), 0u);
}

TEST_F(EarlyRequestsTest, each_request_waits_only_for_the_servers_it_needs) {
  wait("both", {"alpha", "beta"});
  wait("beta", {"beta"});
  EXPECT_THAT(answered_, IsEmpty());
  is_ready("beta");
  EXPECT_THAT(answered_, ElementsAre("beta"));
  is_ready("alpha");
  EXPECT_THAT(answered_, ElementsAre("beta", "both"));
  EXPECT_EQ(time_.set(), 0u);
}

TEST_F(EarlyRequestsTest, a_request_stops_waiting_for_a_server_that_will_be_stopped) {
  wait("alpha", {"alpha"});
  wait("both", {"alpha", "beta"});
  wait("beta", {"beta"});
  early_.release("beta");
  EXPECT_THAT(answered_, ElementsAre("both", "beta"));
}

TEST_F(EarlyRequestsTest, ready_requests_are_answered_before_a_server_stops) {
  wait("alpha", {"alpha"});
  wait("beta", {"beta"});
  starting_.erase("alpha");
  early_.look();  // soon
  early_.release("gamma");
  EXPECT_THAT(answered_, ElementsAre("alpha"));
}

TEST_F(EarlyRequestsTest, a_waiting_request_also_waits_for_a_server_added_later) {
  std::vector<std::string> needed{"alpha"};
  early_.wait(asker(1), "1", [&] { return needed; }, [this] { answered_.emplace_back("1"); });
  needed = {"beta"};
  is_ready("alpha");
  EXPECT_THAT(answered_, IsEmpty());
  early_.release("beta");
  EXPECT_THAT(answered_, ElementsAre("1"));
}

TEST_F(EarlyRequestsTest, no_request_waits_longer_than_five_seconds) {
  wait("first", {"alpha"});
  pass(2s);
  wait("second", {"alpha"});
  pass(2'999ms);
  EXPECT_THAT(answered_, IsEmpty());
  pass(1ms);
  EXPECT_THAT(answered_, ElementsAre("first"));
  pass(2s);
  EXPECT_THAT(answered_, ElementsAre("first", "second"));
}

TEST_F(EarlyRequestsTest, a_cancelled_request_is_not_answered) {
  wait("1", {"alpha"}, 1);
  wait("1", {"alpha"}, 2);
  EXPECT_FALSE(early_.cancel(asker(3), "1"));
  EXPECT_FALSE(early_.cancel(asker(1), "2"));
  EXPECT_TRUE(early_.cancel(asker(1), "1"));
  early_.forget(static_cast<ClientId>(2));
  is_ready("alpha");
  EXPECT_THAT(answered_, IsEmpty());
  EXPECT_EQ(time_.set(), 0u);
}

TEST_F(EarlyRequestsTest, answering_one_request_may_add_another) {
  early_.wait(asker(1), "1", alpha, [this] {
    answered_.push_back("1");
    wait("2", {"beta"});
  });
  is_ready("alpha");
  EXPECT_THAT(answered_, ElementsAre("1"));
  early_.release();
  EXPECT_THAT(answered_, ElementsAre("1", "2"));
}

TEST_F(EarlyRequestsTest, a_large_request_takes_several_places) {
  const auto wait_long = [this](const std::string& id) {
    early_.wait(asker(1), id, alpha, [this, id] { answered_.push_back(id); }, 100UL * 1024 * 1024);
  };
  wait_long("first");
  wait_long("second");
  EXPECT_THAT(answered_, IsEmpty());
  wait_long("third");
  EXPECT_THAT(answered_, ElementsAre("third"));
  wait("short", {"alpha"});
  EXPECT_THAT(answered_, ElementsAre("third"));
  is_ready("alpha");
  starting_.insert("alpha");
  answered_.clear();
  wait_long("again");
  EXPECT_THAT(answered_, IsEmpty());
}

TEST_F(EarlyRequestsTest, the_number_of_waiting_requests_is_limited) {
  for (std::size_t i = 0; i < EarlyRequests::most_waiting; ++i) wait("early", {"alpha"});
  EXPECT_THAT(answered_, IsEmpty());
  wait("late", {"alpha"});
  EXPECT_THAT(answered_, ElementsAre("late"));
}

TEST_F(EarlyRequestsTest, a_cancelled_request_or_departed_client_delays_no_other) {
  wait("1", {"alpha"}, 1);
  wait("2", {"alpha"}, 2);
  wait("3", {"alpha"}, 3);
  starting_.erase("alpha");
  early_.look();
  early_.cancel(asker(1), "1");
  pass(0ms);
  EXPECT_THAT(answered_, ElementsAre("2", "3"));

  answered_.clear();
  starting_.insert("alpha");
  wait("4", {"alpha"}, 4);
  wait("5", {"alpha"}, 5);
  starting_.erase("alpha");
  early_.look();
  early_.forget(static_cast<ClientId>(4));
  pass(0ms);
  EXPECT_THAT(answered_, ElementsAre("5"));
}

}  // namespace
}  // namespace mcpivot
