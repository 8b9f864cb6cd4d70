#include "gateway/presentation.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

GatewayConfig with(std::size_t servers, std::size_t left_out = 0) {
  GatewayConfig config;
  config.servers.resize(servers);
  config.left_out = left_out;
  return config;
}

TEST(Presentation, one_server_is_presented_as_it_is) {
  EXPECT_EQ(presentation_of(with(1)), as_it_is);
}

TEST(Presentation, several_servers_are_presented_as_a_gateway) {
  EXPECT_EQ(presentation_of(with(2)), behind_gateway);
  EXPECT_EQ(presentation_of(with(100)), behind_gateway);
}

TEST(Presentation, without_a_server_mcpivot_answers_itself) {
  EXPECT_EQ(presentation_of(with(0)), behind_gateway);
}

TEST(Presentation, a_server_left_out_because_of_errors_counts) {
  EXPECT_EQ(presentation_of(with(1, 1)), behind_gateway);
  EXPECT_EQ(presentation_of(with(0, 1)), behind_gateway);
}

TEST(Presentation, names_are_prefixed_only_behind_a_gateway) {
  EXPECT_EQ(as_it_is.naming(), Naming::bare);
  EXPECT_EQ(behind_gateway.naming(), Naming::prefixed);
}

}  // namespace
}  // namespace mcpivot
