#include "oauth/challenge.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(Challenge, names_the_metadata_address_and_the_required_scopes) {
  const Challenge challenge = parse_challenge(
      R"(Bearer realm="x, y", resource_metadata="https://a.example/.well-known/x", scope="files:read  files:write")");
  EXPECT_TRUE(challenge.bearer);
  EXPECT_EQ(challenge.resource_metadata, "https://a.example/.well-known/x");
  EXPECT_EQ(challenge.scopes, (Scopes{"files:read", "files:write"}));
  EXPECT_FALSE(challenge.wants_more_scope());
}

TEST(Challenge, is_found_among_other_schemes) {
  const Challenge challenge = parse_challenge(
      R"(Negotiate aGk9PQ==, Basic realm="a \"quoted\" word", bEARER error=insufficient_scope , scope = "w", Digest scope="no")");
  EXPECT_TRUE(challenge.bearer);
  EXPECT_TRUE(challenge.wants_more_scope());
  EXPECT_EQ(challenge.scopes, Scopes{"w"});
}

TEST(Challenge, of_another_scheme_is_ignored) {
  EXPECT_FALSE(parse_challenge(R"(Basic realm="x", scope="y")").bearer);
  EXPECT_TRUE(parse_challenge(R"(Basic scope="y")").scopes.empty());
  EXPECT_FALSE(parse_challenge("").bearer);
}

TEST(Challenge, a_scope_contains_only_printable_characters) {
  EXPECT_EQ(parse_scopes("r \xff\xfe r\xff w\"x a\\b mcp:write c\x7f"), (Scopes{"r", "mcp:write"}));
}

TEST(Challenge, parsing_nonsense_terminates) {
  for (const char* text : {"\"", "=", "Bearer \"", "Bearer a=\"b\\", ",,,=,\"\"", "Bearer ====\"x\" y"})
    parse_challenge(text);
  EXPECT_TRUE(parse_challenge("Bearer").bearer);
}

}  // namespace
}  // namespace mcpivot
