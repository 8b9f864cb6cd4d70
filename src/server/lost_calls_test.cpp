#include "server/lost_calls.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

const std::string* find(const LostCalls& lost, const std::string& params) {
  const std::string line =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t")" + params + "}}";
  return lost.find(*read_message(line));
}

TEST(LostCalls, are_found_by_the_request_state_of_the_retry) {
  LostCalls lost;
  lost.add("a\"b", "it crashed");
  lost.add("c", "it exited");
  EXPECT_EQ(find(lost, ""), nullptr) << "a new call";
  EXPECT_EQ(find(lost, R"(,"requestState":"b")"), nullptr) << "a call that wasn't lost";
  const std::string* const words = find(lost, R"(,"requestState":"a\"b")");
  ASSERT_NE(words, nullptr);
  EXPECT_EQ(*words, "it crashed");
}

TEST(LostCalls, are_limited_in_number_oldest_forgotten_first) {
  LostCalls lost;
  for (std::size_t i = 0; i <= LostCalls::most; ++i) lost.add("s" + std::to_string(i), "it crashed");
  EXPECT_EQ(find(lost, R"(,"requestState":"s0")"), nullptr);
  EXPECT_NE(find(lost, R"(,"requestState":"s1")"), nullptr);
}

}  // namespace
}  // namespace mcpivot
