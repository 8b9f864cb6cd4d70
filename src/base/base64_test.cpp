#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace mcpivot {
namespace {

TEST(Base64url, uses_the_url_safe_alphabet_without_padding) {
  EXPECT_EQ(base64url(""), "");
  EXPECT_EQ(base64url("f"), "Zg");
  EXPECT_EQ(base64url("fo"), "Zm8");
  EXPECT_EQ(base64url("foo"), "Zm9v");
  EXPECT_EQ(base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64url("\xfb\xff\xfe"), "-__-");
}

TEST(Base64url, rejects_every_text_that_it_would_not_produce) {
  for (const std::string_view text :
       {"Z", "Zm9vY", "Zg==", "Zm8=", "Zm 8", "Zm9v\n", "+__-", "/w", "Zh", "Zm9"}) {
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
  }
  EXPECT_EQ(from_base64url(std::string_view("Zm\0v", 4)), std::nullopt);
}

RC_GTEST_PROP(Base64url, decodes_what_it_encoded, (const std::string& bytes)) {
  RC_ASSERT(from_base64url(base64url(bytes)) == bytes);
}

RC_GTEST_PROP(Base64url, encodes_each_value_in_exactly_one_way, (const std::string& text)) {
  if (const auto bytes = from_base64url(text)) RC_ASSERT(base64url(*bytes) == text);
}

}  // namespace
}  // namespace mcpivot
