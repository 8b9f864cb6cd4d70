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

TEST(Presentation, one_server_is_shown_as_it_is) {
  EXPECT_EQ(presentation_of(with(1)), as_it_is);
}

TEST(Presentation, several_servers_are_shown_behind_a_gateway) {
  EXPECT_EQ(presentation_of(with(2)), behind_gateway);
  EXPECT_EQ(presentation_of(with(100)), behind_gateway);
}

TEST(Presentation, where_there_is_no_server_mcpivot_answers_itself) {
  EXPECT_EQ(presentation_of(with(0)), behind_gateway);
}

TEST(Presentation, a_server_that_was_left_out_because_of_errors_counts) {
  EXPECT_EQ(presentation_of(with(1, 1)), behind_gateway);
  EXPECT_EQ(presentation_of(with(0, 1)), behind_gateway);
}

TEST(Presentation, names_are_bare_unless_they_are_marked) {
  EXPECT_EQ(as_it_is.naming(), Naming::bare);
  EXPECT_EQ(behind_gateway.naming(), Naming::prefixed);
}

}  // namespace
}  // namespace mcpivot
