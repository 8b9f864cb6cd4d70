#include "config/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace mcpivot {
namespace {

TEST(Nearest, counts_the_edits_between_two_words) {
  EXPECT_EQ(edit_distance("watch", "watch"), 0U);
  EXPECT_EQ(edit_distance("wacth", "watch"), 1U);
  EXPECT_EQ(edit_distance("watches", "watch"), 2U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("maxMessage", "max_message"), 0U);
}

TEST(Nearest, suggests_only_what_looks_like_a_typo) {
  static constexpr std::array<std::string_view, 6> known{"command", "args",     "env",
                                                         "cwd",     "timeouts", "active"};
  EXPECT_EQ(nearest("comand", known), "command");
  EXPECT_EQ(nearest("Arguments", known), "");
  EXPECT_EQ(nearest("arg", known), "args");
  EXPECT_EQ(nearest("timeout", known), "timeouts");
  EXPECT_EQ(nearest("environment", known), "");
  EXPECT_EQ(nearest("autoApprove", known), "");
  EXPECT_EQ(nearest("x", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 'c'), known), "");
}

}  // namespace
}  // namespace mcpivot
