// What terminals, descriptors and large calls may cost is bounded, and what is short comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"
#include "memory_bounds.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::HasSubstr;

TEST(ControlLimits, large_calls_under_other_names_leave_no_memory_behind) {
  ClientOptions options = with(two());
  options.environment = measurable;
  Client client(options);
  start(client);
  const std::string text(5'000'000, 'x');
  const auto call = [&] { EXPECT_EQ(own(client, "alpha__count", {{"text", text}}).size() < 10, true); };
  call();
  const long before = rss_kb(client.child().pid());
  for (int i = 0; i < 20; ++i) call();
  EXPECT_LT(rss_kb(client.child().pid()), before + bound_kb(30));
}

}  // namespace
}  // namespace harness
