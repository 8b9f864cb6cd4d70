#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace mcpivot {
namespace {

TEST(Base64url, is_that_of_the_rfc_with_two_other_characters_and_no_padding) {
  EXPECT_EQ(base64url(""), "");
  EXPECT_EQ(base64url("f"), "Zg");
  EXPECT_EQ(base64url("fo"), "Zm8");
  EXPECT_EQ(base64url("foo"), "Zm9v");
  EXPECT_EQ(base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64url("\xfb\xff\xfe"), "-__-");
}

TEST(Base64url, refuses_every_text_that_it_would_not_have_made) {
  for (const std::string_view text :
       {"Z", "Zm9vY", "Zg==", "Zm8=", "Zm 8", "Zm9v\n", "+__-", "/w", "Zh", "Zm9"}) {
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
  }
  EXPECT_EQ(from_base64url(std::string_view("Zm\0v", 4)), std::nullopt);
}

RC_GTEST_PROP(Base64url, gives_back_what_went_in, (const std::string& bytes)) {
  RC_ASSERT(from_base64url(base64url(bytes)) == bytes);
}

RC_GTEST_PROP(Base64url, has_one_text_for_each_value, (const std::string& text)) {
  if (const auto bytes = from_base64url(text)) RC_ASSERT(base64url(*bytes) == text);
}

}  // namespace
}  // namespace mcpivot
