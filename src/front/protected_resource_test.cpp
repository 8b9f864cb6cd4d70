#include "front/protected_resource.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

namespace mcpivot {
namespace {

using testing::ElementsAre;

const ProtectedResource local{.issuer = "https://login.example", .audience = "https://pivot.example/mcp"};
const ProtectedResource proxied{.issuer = "https://login.example",
                                .audience = "https://pivot.example/team/mcp",
                                .public_url = "https://pivot.example/team/mcp/"};

TEST(ProtectedResource, metadata_is_at_the_well_known_address_of_each_endpoint) {
  const std::string place = "/.well-known/oauth-protected-resource";
  EXPECT_EQ(local.profile_in(place), "");
  EXPECT_EQ(local.profile_in(place + "/"), "");
  EXPECT_EQ(local.profile_in(place + "/mcp"), "");
  EXPECT_EQ(local.profile_in(place + "/mcp/work"), "work");
  EXPECT_EQ(proxied.profile_in(place + "/team/mcp"), "");
  EXPECT_EQ(proxied.profile_in(place + "/team/mcp/work"), "work");
  EXPECT_EQ(proxied.profile_in(place + "/mcp/work"), "work");
  for (const char* other :
       {"x", "/other", "/mcpx", "/mcp/", "/mcp/a/b", "/mcp/a%22", "/mcp/a\"b", "/team/mcp"})
    EXPECT_FALSE(local.profile_in(place + other)) << other;
  EXPECT_FALSE(local.profile_in("/mcp"));
  EXPECT_FALSE(local.profile_in("/.well-known/openid-configuration"));
}

TEST(ProtectedResource, the_metadata_address_is_the_one_that_clients_use) {
  EXPECT_EQ(local.metadata_url("http://localhost:7420", ""),
            "http://localhost:7420/.well-known/oauth-protected-resource/mcp");
  EXPECT_EQ(local.metadata_url("http://localhost:7420", "work"),
            "http://localhost:7420/.well-known/oauth-protected-resource/mcp/work");
  EXPECT_EQ(proxied.metadata_url("http://localhost:7420", "work"),
            "https://pivot.example/.well-known/oauth-protected-resource/team/mcp/work");
  // What can't be a profile's name isn't repeated.
  EXPECT_EQ(local.metadata_url("http://localhost", "\"\r\nX: y"),
            "http://localhost/.well-known/oauth-protected-resource/mcp");
}

TEST(ProtectedResource, the_resource_is_the_audience_if_that_is_a_url) {
  const auto resource = [](const ProtectedResource& of) {
    return boost::json::parse(of.metadata("http://localhost", "work", {})).at("resource").as_string();
  };
  EXPECT_EQ(resource(local), "https://pivot.example/mcp");
  ProtectedResource named = local;
  named.audience = "api://pivot";
  EXPECT_EQ(resource(named), "http://localhost/mcp/work");
}

TEST(ProtectedResource, a_challenge_contains_only_what_is_known) {
  EXPECT_EQ(header_of({}), "WWW-Authenticate: Bearer\r\n");
  EXPECT_EQ(
      header_of({.error = "insufficient_scope", .words = "no", .scope = "a b", .metadata_url = "http://x"}),
      "WWW-Authenticate: Bearer error=\"insufficient_scope\", error_description=\"no\", scope=\"a b\", "
      "resource_metadata=\"http://x\"\r\n");
}

}  // namespace
}  // namespace mcpivot
