#include "oauth/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Url url(const char* text) {
  return *parse_url(text);
}

TEST(ResourceMetadata, is_looked_up_at_the_challenge_then_the_path_then_the_root) {
  const Url server = url("https://a.example/public/mcp?x=1");
  EXPECT_THAT(resource_metadata_places(server, "https://b.example/x"), ElementsAre("https://b.example/x"));
  EXPECT_THAT(resource_metadata_places(server, ""),
              ElementsAre("https://a.example/.well-known/oauth-protected-resource/public/mcp",
                          "https://a.example/.well-known/oauth-protected-resource"));
  EXPECT_THAT(resource_metadata_places(url("https://a.example/"), ""),
              ElementsAre("https://a.example/.well-known/oauth-protected-resource"));
}

TEST(ResourceMetadata, must_describe_the_server_that_was_asked) {
  const Url server = url("https://a.example/public/mcp");
  const auto of = [&](const std::string& resource) {
    return parse_resource_metadata(
        R"({"resource":")" + resource + R"(","authorization_servers":["https://i.example"]})", server);
  };
  EXPECT_EQ(of("https://a.example/public/mcp")->resource, "https://a.example/public/mcp");
  EXPECT_EQ(of("https://a.example/")->resource, "https://a.example/");
  EXPECT_EQ(of("https://a.example/public")->resource, "https://a.example/public");
  for (const char* other :
       {"https://evil.example/public/mcp", "https://a.example:444/public/mcp", "http://a.example/public/mcp",
        "https://a.example/pub", "https://a.example/public/mcp/x", "urn:x"})
    EXPECT_THAT(of(other).error(), HasSubstr("for another server")) << other;
}

TEST(ResourceMetadata, must_name_an_issuer) {
  EXPECT_FALSE(parse_resource_metadata("[]", url("https://a.example/")).has_value());
  EXPECT_FALSE(
      parse_resource_metadata(R"({"authorization_servers":[]})", url("https://a.example/")).has_value());
  EXPECT_EQ(
      parse_resource_metadata(R"({"authorization_servers":["i"]})", url("https://a.example/"))->resource,
      "https://a.example");
}

TEST(IssuerMetadata, is_looked_up_in_the_order_of_the_specification) {
  EXPECT_THAT(issuer_metadata_places(url("https://i.example/tenant1")),
              ElementsAre("https://i.example/.well-known/oauth-authorization-server/tenant1",
                          "https://i.example/.well-known/openid-configuration/tenant1",
                          "https://i.example/tenant1/.well-known/openid-configuration"));
  EXPECT_THAT(issuer_metadata_places(url("https://i.example")),
              ElementsAre("https://i.example/.well-known/oauth-authorization-server",
                          "https://i.example/.well-known/openid-configuration"));
}

std::expected<IssuerMetadata, std::string> document(const std::string& issuer, const std::string& rest,
                                                    const std::string& expected = "https://i.example") {
  return parse_issuer_metadata(R"({"issuer":")" + issuer + R"(",)" + rest + "}", expected);
}
const std::string endpoints =
    R"("authorization_endpoint":"https://i.example/a","token_endpoint":"https://i.example/t")";
const std::string s256 = R"(,"code_challenge_methods_supported":["plain","S256"])";

TEST(IssuerMetadata, the_issuer_is_compared_exactly) {
  EXPECT_TRUE(document("https://i.example", endpoints + s256).has_value());
  for (const char* other :
       {"https://i.example/", "https://I.example", "https://i.example:443", "https://evil.example"})
    EXPECT_THAT(document(other, endpoints + s256).error(), HasSubstr("another issuer")) << other;
}

TEST(IssuerMetadata, must_support_s256) {
  EXPECT_THAT(document("https://i.example", endpoints).error(), HasSubstr("S256"));
  EXPECT_THAT(
      document("https://i.example", endpoints + R"(,"code_challenge_methods_supported":["plain"])").error(),
      HasSubstr("S256"));
}

TEST(IssuerMetadata, endpoints_for_codes_and_tokens_must_use_tls) {
  const std::string plain =
      R"("authorization_endpoint":"https://i.example/a","token_endpoint":"http://i.example/t")";
  EXPECT_THAT(document("https://i.example", plain + s256).error(), HasSubstr("http://i.example/t"));
  const std::string here =
      R"("authorization_endpoint":"http://127.0.0.1:1/a","token_endpoint":"http://localhost:1/t")";
  EXPECT_TRUE(document("https://i.example", here + s256).has_value());
  const std::string script =
      R"x("authorization_endpoint":"javascript:alert(1)","token_endpoint":"https://i.example/t")x";
  EXPECT_FALSE(document("https://i.example", script + s256).has_value());
}

TEST(IssuerMetadata, control_characters_in_it_are_not_shown) {
  const std::string other = document("\\u001b[31mx\\ny\\u009bz", endpoints + s256).error();
  EXPECT_THAT(other, HasSubstr("another issuer (?[31mx?y?z)"));
  const std::string endpoint =
      R"("authorization_endpoint":"ftp://\u001b\n","token_endpoint":"https://i.example/t")";
  EXPECT_THAT(document("https://i.example", endpoint + s256).error(), HasSubstr("endpoint ftp://?? isn't"));
}

}  // namespace
}  // namespace mcpivot
