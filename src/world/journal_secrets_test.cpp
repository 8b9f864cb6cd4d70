#include "world/journal_secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace mcpivot {
namespace {

std::vector<std::string> values_of(const ServerConfig& server) {
  GatewayConfig config;
  config.servers.emplace_back().server = server;
  std::vector<std::string> values;
  for (const Secret& secret : secrets_in(config)) values.push_back(secret.value);
  return values;
}

TEST(JournalSecrets, include_the_environment_and_secrets_in_its_urls) {
  ServerConfig server;
  server.command.env = {{"API_KEY", "abcd1234"}, {"DEBUG", "1"}, {"DB", "postgres://ada:pa55word@db/x"}};
  EXPECT_THAT(values_of(server),
              testing::ElementsAre("abcd1234", "postgres://ada:pa55word@db/x", "pa55word"));
}

TEST(JournalSecrets, include_secret_options_and_header_arguments) {
  ServerConfig server;
  server.command.argv = {"server", "--api-key",    "k-1234",    "--root",        "/srv/files",
                         "-H",     "X-Auth: me99", "--verbose", "--token=t-5678"};
  EXPECT_THAT(values_of(server), testing::ElementsAre("k-1234", "me99", "t-5678"));
}

TEST(JournalSecrets, include_values_of_headers_and_client_secrets) {
  ::setenv("JOURNAL_SECRETS_TEST", "from-the-environment", 1);
  ServerConfig server;
  server.http.headers = {"Authorization: Bearer ${JOURNAL_SECRETS_TEST}", "X-Team: core"};
  server.http.oauth.client_secret = "our-own-secret";
  EXPECT_THAT(values_of(server), testing::ElementsAre("Bearer from-the-environment", "from-the-environment",
                                                      "core", "our-own-secret"));
}

TEST(JournalSecrets, of_older_configurations_are_remembered) {
  std::vector<Secret> known;
  const auto values = [&] {
    std::vector<std::string> all;
    for (const Secret& secret : known) all.push_back(secret.value);
    return all;
  };
  add_secrets(known, {{"A", "first-secret"}, {"B", "another-one"}});
  add_secrets(known, {{"A", "second-secret"}, {"C", "another-one"}});
  EXPECT_THAT(values(), testing::ElementsAre("first-secret", "second-secret", "another-one"));
  add_secrets(known, {});
  EXPECT_EQ(known.size(), 3U);
  for (int i = 0; i < 2'000; ++i) add_secrets(known, {{"A", std::to_string(i) + "-secret"}});
  EXPECT_EQ(known.size(), 1'000U);
  EXPECT_EQ(known.back().value, "1999-secret");
  EXPECT_EQ(known.front().value, "1000-secret");
}

}  // namespace
}  // namespace mcpivot
