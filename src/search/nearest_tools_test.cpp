#include "search/nearest_tools.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using Words = std::vector<std::string>;

TEST(DidYouMeanTool, finds_tools_by_their_own_and_by_similar_names) {
  const Words tools{"alpha__echo", "alpha__read_file", "beta__echo"};
  EXPECT_EQ(did_you_mean_tool("echo", tools), " Did you mean alpha__echo or beta__echo?");
  EXPECT_EQ(did_you_mean_tool("alpha__ehco", tools), " Did you mean alpha__echo?");
  EXPECT_EQ(did_you_mean_tool("raed_file", tools), " Did you mean alpha__read_file?");
  EXPECT_EQ(did_you_mean_tool("quite_another", tools), "");
  EXPECT_EQ(did_you_mean_tool("echo", {}), "");
}

}  // namespace
}  // namespace mcpivot
