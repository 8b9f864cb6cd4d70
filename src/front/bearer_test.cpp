#include "front/bearer.h"

#include <gtest/gtest.h>

#include <string>

namespace mcpivot {
namespace {

TEST(Bearer, the_scheme_before_the_token_is_case_insensitive) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bearer aZ09-._~+/=="), "aZ09-._~+/==");
  EXPECT_EQ(bearer_token("BEARER abc"), "abc");
  EXPECT_EQ(bearer_token("BeArEr   abc"), "abc");
}

TEST(Bearer, anything_but_a_single_token_is_no_token) {
  for (const char* value : {"",
                            "Bearer",
                            "Bearer ",
                            "Bearer    ",
                            "Bearerabc",
                            "Bearer\tabc",
                            " Bearer abc",
                            "Bearer abc ",
                            "Bearer abc def",
                            "Bearer abc,def",
                            "Bearer abc, Bearer def",
                            "Bearer =",
                            "Bearer a=b",
                            "Bearer \"abc\"",
                            "Bearer abc\n",
                            "Bearer: abc",
                            "Basic YWxpY2U6eA==",
                            "Bearers abc",
                            "Bearer a\x7f",
                            "Bearer \xc3\xa4"})
    EXPECT_EQ(bearer_token(value), std::nullopt) << value;
  EXPECT_EQ(bearer_token(std::string("Bearer a\0b", 10)), std::nullopt);
}

}  // namespace
}  // namespace mcpivot
