#include "front/access_tokens.h"

#include <gmock/gmock.h>

#include "host/signing_key.h"
#include "virtual_time.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using host::SigningKey;
using Kind = AccessTokens::Refusal::Kind;

constexpr std::chrono::sys_seconds start{1'800'000'000s};

class AccessTokensTest : public testing::Test {
 protected:
  std::expected<AccessTokens::Holder, AccessTokens::Refusal> check(const std::string& token) {
    return tokens_.check(token, start + std::chrono::floor<std::chrono::seconds>(time_.now() - began_));
  }
  void pass(std::chrono::milliseconds span) {
    const auto until = time_.now() + span;
    while (time_.step(until)) {
    }
  }
  std::string token(const std::string& subject, int seconds = 7200) const {
    return key_.token(R"({"iss":"https://i.example","sub":")" + subject +
                      R"(","aud":"a","scope":"x y","exp":)" +
                      std::to_string(start.time_since_epoch().count() + seconds) + "}");
  }

  simulation::VirtualTime time_;
  Timers::Time began_ = time_.now();
  SigningKey key_{SigningKey::Kind::p256, "k1"};
  std::string keys_ = SigningKey::set(key_.jwk());
  int fetched_ = 0;
  bool down_ = false;
  AccessTokens tokens_{
      time_, {.issuer = "https://i.example", .audience = "a"}, [this](const Url& url, IssuerKeys::Got got) {
        ++fetched_;
        time_.later(std::chrono::milliseconds(1), [this, url, got = std::move(got)] {
          if (down_) return got(std::unexpected("down"));
          got(IssuerKeys::Document{
              .status = 200,
              .body = url.target == "/keys"
                          ? keys_
                          : R"({"issuer":"https://i.example","jwks_uri":"https://i.example/keys"})"});
        });
      }};
};

TEST_F(AccessTokensTest, all_tokens_of_one_subject_have_the_same_principal) {
  EXPECT_EQ(check(token("alice")).error().kind, Kind::keys_come);
  pass(1s);
  const auto alice = check(token("alice"));
  ASSERT_TRUE(alice);
  EXPECT_EQ(alice->principal, "https://i.example alice");
  EXPECT_EQ(alice->scopes, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(alice->until, start + 7260s);
  EXPECT_EQ(check(token("alice", 7300))->principal, alice->principal);
  EXPECT_NE(check(token("bob"))->principal, alice->principal);
}

TEST_F(AccessTokensTest, a_remembered_token_still_expires) {
  check(token("alice"));
  pass(1s);
  const std::string brief = token("alice", 60);
  EXPECT_TRUE(check(brief));
  pass(118s);
  EXPECT_TRUE(check(brief));
  pass(2s);
  EXPECT_EQ(check(brief).error().words, "the token has expired");
}

TEST_F(AccessTokensTest, an_expired_token_is_forgotten) {
  const std::string lasting = token("alice");
  check(lasting);
  pass(1s);
  for (const char* brief : {"bob", "carol"}) EXPECT_TRUE(check(token(brief, 60)));
  EXPECT_TRUE(check(lasting));
  EXPECT_EQ(tokens_.remembered(), 3);
  pass(119s);
  EXPECT_TRUE(check(lasting));
  EXPECT_EQ(tokens_.remembered(), 1);
}

TEST_F(AccessTokensTest, the_number_of_remembered_tokens_is_limited) {
  check(token("alice"));
  pass(1s);
  for (int i = 0; i < 4'200; ++i) ASSERT_TRUE(check(token("user" + std::to_string(i))));
  EXPECT_EQ(tokens_.remembered(), 4'096);
}

TEST_F(AccessTokensTest, a_remembered_token_is_rejected_once_its_key_is_withdrawn) {
  check(token("alice"));
  pass(1s);
  ASSERT_TRUE(check(token("alice")));
  keys_ = SigningKey::set(SigningKey(SigningKey::Kind::p256, "k2").jwk());
  pass(11min);
  EXPECT_TRUE(check(token("alice")));  // which makes us fetch the keys
  pass(1s);
  EXPECT_FALSE(check(token("alice")));
}

TEST_F(AccessTokensTest, known_keys_work_while_the_issuer_is_down) {
  check(token("alice"));
  pass(1s);
  ASSERT_TRUE(check(token("alice")));
  down_ = true;
  pass(30min);
  EXPECT_TRUE(check(token("alice")));
  pass(1s);
  EXPECT_TRUE(check(token("bob")));
}

TEST_F(AccessTokensTest, a_token_invalid_under_any_key_is_rejected_before_keys_are_fetched) {
  EXPECT_EQ(check("x.y.z").error().kind, Kind::bad_token);
  EXPECT_EQ(check(std::string(Jwt::longest + 1, 'x')).error().words, "the token is too long");
  EXPECT_EQ(check(token("alice", -3600)).error().words, "the token has expired");
  EXPECT_EQ(check("").error().kind, Kind::bad_token);
}

TEST(Issuer, must_use_https_unless_it_is_on_this_machine) {
  for (const char* good : {"https://login.example", "https://login.example/realms/a", "http://127.0.0.1:8080",
                           "http://localhost:1/x", "http://[::1]:1"})
    EXPECT_EQ(fault_in_issuer(good), "") << good;
  for (const std::string& bad :
       {std::string(), std::string("login.example"), std::string("http://login.example"),
        std::string("ftp://x"), std::string("https://a?b"), std::string("https://a#b"),
        std::string("https://u:p@a"), std::string("https://a/\"x"), "https://a/" + std::string(200, 'x')})
    EXPECT_NE(fault_in_issuer(bad), "") << bad;
}

}  // namespace
}  // namespace mcpivot
