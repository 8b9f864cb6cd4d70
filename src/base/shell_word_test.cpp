#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(ShellWord, is_quoted_only_if_necessary) {
  EXPECT_EQ(shell_word("https://a.example:8080/mcp"), "https://a.example:8080/mcp");
  EXPECT_EQ(shell_word("https://a.example/?a=1&b=$HOME"), "'https://a.example/?a=1&b=$HOME'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("a;b"), "'a;b'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace mcpivot
