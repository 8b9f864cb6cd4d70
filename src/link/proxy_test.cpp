#include "link/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace mcpivot {
namespace {

std::expected<std::optional<Proxy>, std::string> choose(const std::string& url,
                                                        std::map<std::string, std::string> environment) {
  return proxy_for(*parse_url(url), [&](const char* name) { return environment[name].c_str(); });
}

std::string chosen(const std::string& url, const std::map<std::string, std::string>& environment) {
  const auto proxy = choose(url, environment);
  if (!proxy) return proxy.error();
  return *proxy ? (*proxy)->url.origin() : "direct";
}

TEST(Proxy, is_the_one_the_environment_names_for_the_scheme) {
  EXPECT_EQ(chosen("http://daemon/", {}), "direct");
  EXPECT_EQ(chosen("http://daemon/", {{"http_proxy", "http://p:3128"}}), "http://p:3128");
  EXPECT_EQ(chosen("https://daemon/", {{"HTTP_PROXY", "http://p:3128"}}), "direct");
  EXPECT_EQ(chosen("https://daemon/", {{"HTTPS_PROXY", "p:1"}, {"ALL_PROXY", "q:2"}}), "http://p:1");
  EXPECT_EQ(chosen("https://daemon/", {{"ALL_PROXY", "q:2"}}), "http://q:2");
}

TEST(Proxy, is_not_used_for_this_machine_and_hosts_in_no_proxy) {
  for (const char* url :
       {"http://localhost:1/", "http://127.0.0.1:1/", "http://[::1]:1/", "http://a.localhost/"})
    EXPECT_EQ(chosen(url, {{"ALL_PROXY", "http://p:1"}}), "direct") << url;
  for (const char* list : {"*", "daemon.test", "x, daemon.test", ".test", "test", "*.test", "daemon.test:80"})
    EXPECT_EQ(chosen("http://daemon.test/", {{"ALL_PROXY", "http://p:1"}, {"NO_PROXY", list}}), "direct")
        << list;
  for (const char* list : {"", "emon.test", "daemon.test:81", "other"})
    EXPECT_EQ(chosen("http://daemon.test/", {{"ALL_PROXY", "http://p:1"}, {"NO_PROXY", list}}), "http://p:1")
        << list;
}

TEST(Proxy, may_require_a_name_and_a_password) {
  const auto proxy = choose("http://daemon/", {{"HTTP_PROXY", "http://me:s%40fe@p:1/"}});
  ASSERT_TRUE(proxy && *proxy);
  EXPECT_EQ((*proxy)->url.origin(), "http://p:1");
  EXPECT_EQ((*proxy)->authorization, "Basic bWU6c0BmZQ==");
}

TEST(Proxy, with_an_invalid_address_is_an_error_that_names_the_variable) {
  EXPECT_THAT(chosen("http://daemon/", {{"HTTP_PROXY", "http://:1"}}), testing::HasSubstr("HTTP_PROXY"));
  EXPECT_THAT(chosen("http://daemon/", {{"http_proxy", "https://p"}}), testing::HasSubstr("TLS"));
}

}  // namespace
}  // namespace mcpivot
