#include "cli/colours.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace mcpivot {
namespace {

TEST(Colours, text_is_shortened_by_characters_not_bytes) {
  ::setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(columns_of("größe"), 5U);
  EXPECT_EQ(shortened("größe", 5), "größe");
  EXPECT_EQ(shortened("größer", 5), "größ…");
  EXPECT_EQ(shortened("größer", 1), "…");
  EXPECT_EQ(shortened("größer", 0), "");
  EXPECT_EQ(shortened("", 0), "");
}

TEST(Colours, the_marks_fit_the_locale) {
  ::setenv("LC_ALL", "C", 1);
  EXPECT_EQ(shortened("larger", 5), "larg~");
  ::unsetenv("LC_ALL");
  ::unsetenv("LC_CTYPE");
  ::setenv("LANG", "en_GB.UTF-8", 1);
  EXPECT_EQ(shortened("larger", 5), "larg…");
}

}  // namespace
}  // namespace mcpivot
