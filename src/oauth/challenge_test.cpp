#include "oauth/challenge.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(Challenge, says_where_to_read_and_which_scopes_are_wanted) {
  const Challenge challenge = parse_challenge(
      R"(Bearer realm="x, y", resource_metadata="https://a.example/.well-known/x", scope="files:read  files:write")");
  EXPECT_TRUE(challenge.bearer);
  EXPECT_EQ(challenge.resource_metadata, "https://a.example/.well-known/x");
  EXPECT_EQ(challenge.scopes, (Scopes{"files:read", "files:write"}));
  EXPECT_FALSE(challenge.wants_more_scope());
}

TEST(Challenge, is_found_among_others) {
  const Challenge challenge = parse_challenge(
      R"(Negotiate aGk9PQ==, Basic realm="a \"quoted\" word", bEARER error=insufficient_scope , scope = "w", Digest scope="no")");
  EXPECT_TRUE(challenge.bearer);
  EXPECT_TRUE(challenge.wants_more_scope());
  EXPECT_EQ(challenge.scopes, Scopes{"w"});
}

TEST(Challenge, of_another_scheme_says_nothing_to_us) {
  EXPECT_FALSE(parse_challenge(R"(Basic realm="x", scope="y")").bearer);
  EXPECT_TRUE(parse_challenge(R"(Basic scope="y")").scopes.empty());
  EXPECT_FALSE(parse_challenge("").bearer);
}

TEST(Challenge, a_scope_has_printable_letters_alone) {
  EXPECT_EQ(parse_scopes("r \xff\xfe r\xff w\"x a\\b mcp:write c\x7f"), (Scopes{"r", "mcp:write"}));
}

TEST(Challenge, nonsense_ends) {
  for (const char* text : {"\"", "=", "Bearer \"", "Bearer a=\"b\\", ",,,=,\"\"", "Bearer ====\"x\" y"})
    parse_challenge(text);
  EXPECT_TRUE(parse_challenge("Bearer").bearer);
}

}  // namespace
}  // namespace mcpivot
