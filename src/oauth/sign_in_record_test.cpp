#include "oauth/sign_in_record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

SignInRecord example(const std::string& server) {
  return {.server = server,
          .resource = "https://a.example/mcp",
          .issuer = {.issuer = "https://i.example",
                     .authorization_endpoint = "https://i.example/a",
                     .token_endpoint = "https://i.example/t",
                     .registration_endpoint = "https://i.example/r",
                     .token_auth_methods = {"none"},
                     .scopes = {"a", "offline_access"},
                     .takes_metadata_urls = true,
                     .sends_issuer = true},
          .client = {.id = "c", .secret = "s", .auth_method = "none", .redirect_uri = "http://127.0.0.1:1/"},
          .tokens = {.access = "at", .refresh = "rt", .expires = 12, .scope = "a", .who = "me"},
          .asked = {"a", "b"},
          .needed = {"c"},
          .sign_ins = 5,
          .login = 34,
          .trial = {.of = TokenTrial::Of::refreshed_token, .failed = true, .failures = 2}};
}

TEST(SignInRecord, is_parsed_as_it_was_formatted) {
  const std::string text = record_text(example("x"));
  const auto read = parse_record(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(record_text(*read), text);
  EXPECT_EQ(read->tokens.refresh, "rt");
  EXPECT_EQ(read->asked, (Scopes{"a", "b"}));
  EXPECT_EQ(read->needed, (Scopes{"c"}));
  EXPECT_EQ(read->sign_ins, 5);
  EXPECT_EQ(read->login, 34);
  EXPECT_TRUE(read->issuer.sends_issuer);
  EXPECT_EQ(read->trial.of, TokenTrial::Of::refreshed_token);
  EXPECT_TRUE(read->trial.failed);
  EXPECT_EQ(read->trial.failures, 2);
}

TEST(SignInRecord, of_another_version_is_ignored) {
  EXPECT_FALSE(parse_record("").has_value());
  EXPECT_FALSE(parse_record("{}").has_value());
  EXPECT_FALSE(parse_record(R"({"version":2})").has_value());
}

class Store : public testing::Test {
 protected:
  host::TemporaryDirectory folder_;
  Url url_ = *parse_url("https://a.example/mcp");
  std::string path_ = folder_ / "state/oauth";
};

TEST_F(Store, is_private) {
  SignInStore store(url_, {}, path_);
  EXPECT_FALSE(store.read().signed_in());
  ASSERT_EQ(store.take_turn(), LockFile::Taken::yes);
  ASSERT_TRUE(store.write(example(url_.text())).has_value());
  EXPECT_EQ(store.read().tokens.access, "at");
  struct stat facts{};
  ASSERT_EQ(::stat(store.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
}

TEST_F(Store, a_record_that_could_not_be_read_again_is_not_written) {
  SignInStore store(url_, {}, path_);
  ASSERT_EQ(store.take_turn(), LockFile::Taken::yes);
  ASSERT_TRUE(store.write(example(url_.text())).has_value());
  SignInRecord large = example(url_.text());
  large.issuer.scopes.insert(std::string(300'000, 'x'));
  const auto written = store.write(large);
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().find("larger than 256 KiB"), std::string::npos);
  EXPECT_TRUE(store.read().signed_in());
}

TEST_F(Store, another_client_or_server_has_another_file) {
  SignInStore one(url_, {}, path_);
  EXPECT_NE(one.path(), SignInStore(url_, {.id = "x"}, path_).path());
  EXPECT_NE(one.path(), SignInStore(*parse_url("https://a.example/other"), {}, path_).path());
}

TEST_F(Store, lets_one_process_at_a_time_sign_in_and_shows_its_url_to_the_others) {
  SignInStore one(url_, {}, path_);
  SignInStore other(url_, {}, path_);
  ASSERT_EQ(one.take_turn(), LockFile::Taken::yes);
  EXPECT_EQ(other.take_turn(), LockFile::Taken::by_another);
  EXPECT_FALSE(other.announced().has_value());
  one.announce(
      {.url = "https://i.example/a?state=1", .redirect_uri = "http://127.0.0.1:1/", .in_browser = true});
  ASSERT_TRUE(other.announced());
  EXPECT_EQ(other.announced()->url, "https://i.example/a?state=1");
  EXPECT_EQ(other.announced()->redirect_uri, "http://127.0.0.1:1/");
  EXPECT_TRUE(other.announced()->in_browser);
  one.end_turn();
  EXPECT_FALSE(other.announced().has_value());
  EXPECT_EQ(other.take_turn(), LockFile::Taken::yes);
}

// Its holder was stopped before the user's time was up.
TEST_F(Store, an_announcement_that_is_too_old_does_not_count) {
  SignInStore one(url_, {}, path_);
  const SignInStore other(url_, {}, path_);
  ASSERT_EQ(one.take_turn(), LockFile::Taken::yes);
  one.announce({.url = "https://i.example/a", .redirect_uri = "http://127.0.0.1:1/", .in_browser = true});
  const auto written = [&](std::chrono::seconds ago) {
    const std::time_t then = std::time(nullptr) - ago.count();
    const timespec times[] = {{.tv_sec = then, .tv_nsec = 0}, {.tv_sec = then, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (one.path() + ".lock").c_str(), times, 0), 0);
  };
  written(SignInStore::longest_page - std::chrono::seconds(30));
  EXPECT_TRUE(other.announced().has_value());
  written(SignInStore::longest_page + std::chrono::seconds(90));
  EXPECT_FALSE(other.announced().has_value());
}

TEST_F(Store, a_change_by_another_process_is_noticed) {
  SignInStore one(url_, {}, path_);
  SignInStore other(url_, {}, path_);
  const std::string before = one.stamp();
  ASSERT_EQ(other.take_turn(), LockFile::Taken::yes);
  ASSERT_TRUE(other.write(example(url_.text())).has_value());
  EXPECT_NE(one.stamp(), before);
  ASSERT_TRUE(other.remove().has_value());
  EXPECT_EQ(one.stamp(), before);
}

}  // namespace
}  // namespace mcpivot
