#include "server/offer_waits.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

constexpr ClientId a{1};
constexpr ClientId b{2};

class OfferWaitsTest : public testing::Test {
 protected:
  void wait(Asker asker, const std::string& id) {
    waits_.add(asker, id, [this, id] { released_ += id + " "; });
  }
  std::optional<Asker> cancel(Asker by, const std::string& id) {
    const std::string line =
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + "}}";
    return waits_.cancel(by, *read_message(line));
  }
  std::string released() {
    released_.clear();
    waits_.release();
    return released_;
  }

  OfferWaits waits_;
  std::string released_;
};

TEST_F(OfferWaitsTest, all_are_released_once_in_order) {
  wait({.client = a}, "1");
  wait({.client = b}, "1");
  wait({.client = a}, "2");
  EXPECT_EQ(released(), "1 1 2 ");
  EXPECT_EQ(released(), "");
}

TEST_F(OfferWaitsTest, a_caller_that_waits_again_when_released_waits_for_the_next_release) {
  waits_.add({.client = a}, "1", [this] { wait({.client = a}, "again"); });
  EXPECT_EQ(released(), "");
  EXPECT_EQ(released(), "again ");
}

TEST_F(OfferWaitsTest, a_cancelled_request_stops_waiting) {
  wait({.client = a, .exchange = 1}, "7");
  wait({.client = b}, "7");
  EXPECT_FALSE(cancel({.client = a, .exchange = 2}, "7")) << "it came with another exchange";
  EXPECT_FALSE(cancel({.client = a, .exchange = 1}, "8"));
  EXPECT_EQ(cancel({.client = a, .exchange = 1}, "7"), (Asker{.client = a, .exchange = 1}));
  EXPECT_EQ(waits_.size(), 1U);
  EXPECT_EQ(released(), "7 ");
}

TEST_F(OfferWaitsTest, the_requests_of_a_departed_client_stop_waiting) {
  wait({.client = a}, "1");
  wait({.client = b}, "2");
  const auto is_a = [](ClientId client) { return client == a; };
  EXPECT_TRUE(waits_.has(is_a));
  waits_.forget(a);
  EXPECT_FALSE(waits_.has(is_a));
  EXPECT_EQ(released(), "2 ");
}

}  // namespace
}  // namespace mcpivot
