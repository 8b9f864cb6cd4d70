#include "oauth/jwks.h"

#include <gmock/gmock.h>

#include "base/base64.h"
#include "host/signing_key.h"

namespace mcpivot {
namespace {

using host::SigningKey;
using Kind = SigningKey::Kind;
using Finding = KeySet::Finding;
using testing::HasSubstr;

constexpr const char* claims = R"({"iss":"i","sub":"alice","aud":"a","exp":1800000600})";

// Generating keys takes a while.
const SigningKey& key_of(Kind kind) {
  static const SigningKey rsa(Kind::rsa);
  static const SigningKey p256(Kind::p256);
  static const SigningKey p384(Kind::p384);
  static const SigningKey ed25519(Kind::ed25519);
  switch (kind) {
    case Kind::rsa:
      return rsa;
    case Kind::p256:
      return p256;
    case Kind::p384:
      return p384;
    case Kind::ed25519:
      break;
  }
  return ed25519;
}
constexpr std::array kinds{Kind::rsa, Kind::p256, Kind::p384, Kind::ed25519};

KeySet set_of(const std::string& jwks) {
  auto set = KeySet::read(SigningKey::set(jwks));
  EXPECT_TRUE(set) << set.error();
  return set ? *set : KeySet();
}

Finding judged(const KeySet& set, const std::string& token) {
  const auto read = read_jwt(token);
  EXPECT_TRUE(read) << read.error();
  return read ? set.verify(*read) : Finding::forged;
}

TEST(Jwks, accepts_only_what_its_key_signed) {
  for (const Kind kind : kinds) {
    const SigningKey& key = key_of(kind);
    const KeySet set = set_of(key.jwk());
    const std::string token = key.token(claims);
    EXPECT_EQ(judged(set, token), Finding::genuine) << key.algorithm();
    EXPECT_EQ(judged(set, SigningKey(kind).token(claims)), Finding::forged) << key.algorithm();
    // Every bit of the signature counts.
    const auto dot = token.rfind('.');
    std::string signature = *from_base64url(token.substr(dot + 1));
    for (const std::size_t at : {std::size_t{0}, signature.size() / 2, signature.size() - 1}) {
      std::string changed = signature;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      EXPECT_EQ(judged(set, token.substr(0, dot + 1) + base64url(changed)), Finding::forged);
    }
    for (const std::string& odd :
         {signature + '\0', signature.substr(1), std::string(signature.size(), '\0'), std::string("x")})
      EXPECT_EQ(judged(set, token.substr(0, dot + 1) + base64url(odd)), Finding::forged);
    // So do the claims.
    const std::string others = host::base64url(R"({"iss":"i","sub":"root","aud":"a","exp":1800000600})");
    EXPECT_EQ(judged(set, token.substr(0, token.find('.') + 1) + others + token.substr(dot)),
              Finding::forged);
  }
}

TEST(Jwks, an_rsa_key_verifies_both_paddings_without_confusing_them) {
  const SigningKey& key = key_of(Kind::rsa);
  const std::string pss_header = R"({"typ":"at+jwt","alg":"PS256","kid":"k1"})";
  const KeySet both = set_of(key.jwk());
  EXPECT_EQ(judged(both, key.token(pss_header, claims, true)), Finding::genuine);
  EXPECT_EQ(judged(both, key.token(pss_header, claims, false)), Finding::forged);
  EXPECT_EQ(judged(both, key.token(key.header(), claims, true)), Finding::forged);
  const KeySet only = set_of(key.jwk(R"(,"alg":"RS256")"));
  EXPECT_EQ(judged(only, key.token(claims)), Finding::genuine);
  EXPECT_EQ(judged(only, key.token(pss_header, claims, true)), Finding::forged);
}

// The public key is public: a signature made with it proves nothing.
TEST(Jwks, a_public_key_is_never_used_as_a_symmetric_secret) {
  const SigningKey& key = key_of(Kind::rsa);
  const std::string content =
      host::base64url(R"({"typ":"at+jwt","alg":"HS256","kid":"k1"})") + "." + host::base64url(claims);
  for (const std::string& secret : {key.pem(), key.jwk()})
    EXPECT_FALSE(read_jwt(content + "." + host::base64url(host::hmac_sha256(secret, content))));
  // With an algorithm in the header that is accepted, it still isn't a valid signature.
  const std::string other = host::base64url(key.header()) + "." + host::base64url(claims);
  EXPECT_EQ(judged(set_of(key.jwk()), other + "." + host::base64url(host::hmac_sha256(key.pem(), other))),
            Finding::forged);
}

TEST(Jwks, a_key_of_the_wrong_type_for_the_algorithm_is_not_used) {
  for (const Kind kind : kinds)
    for (const Kind other : kinds) {
      if (kind == other) continue;
      const SigningKey& key = key_of(kind);
      const std::string header =
          R"({"typ":"at+jwt","alg":")" + key_of(other).algorithm() + R"(","kid":"k1"})";
      EXPECT_EQ(judged(set_of(key.jwk()), key.token(header, claims)), Finding::forged);
    }
}

TEST(Jwks, a_key_for_another_use_verifies_nothing) {
  const SigningKey& key = key_of(Kind::p256);
  EXPECT_TRUE(KeySet::read(SigningKey::set(key.jwk(R"(,"use":"sig","alg":"ES256","key_ops":["verify"])"))));
  for (const char* more : {R"(,"use":"enc")", R"(,"use":1)", R"(,"key_ops":["sign"])",
                           R"(,"key_ops":"verify")", R"(,"alg":"ES384")", R"(,"alg":"RS256")",
                           R"(,"alg":"none")", R"(,"alg":7)", R"(,"d":"AAAA")", R"(,"kty":"RSA")"}) {
    const auto set = KeySet::read(SigningKey::set(key.jwk(more)));
    ASSERT_FALSE(set) << more;
    EXPECT_THAT(set.error(), HasSubstr("none of the 1 keys")) << more;
  }
}

TEST(Jwks, weak_broken_and_unknown_keys_are_skipped) {
  const SigningKey& good = key_of(Kind::p256);
  const std::string zero = host::base64url(std::string(32, '\0'));
  const std::vector<std::string> all{
      SigningKey(Kind::rsa, "weak", 1024).jwk(),
      R"({"kty":"oct","k":"c2VjcmV0c2VjcmV0c2VjcmV0","kid":"k1"})",
      R"({"kty":"XX"})",
      "{}",
      "7",
      "null",
      "[]",
      R"({"kty":"EC","crv":"P-256","x":")" + zero + R"(","y":")" + zero + R"("})",  // not on the curve
      R"({"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"})",
      R"({"kty":"EC","crv":"secp256k1","x":")" + zero + R"(","y":")" + zero + R"("})",
      R"({"kty":"OKP","crv":"Ed25519","x":"AAAA"})",
      R"({"kty":"RSA","n":"AQAB","e":"AQAB"})",
      R"({"kty":"RSA","n":")" + host::base64url(std::string(256, '\xFF')) + R"(","e":"AQ"})",  // e = 1
      R"({"kty":"RSA","n":")" + host::base64url(std::string(2048, '\xFF')) + R"(","e":"AQAB"})"};
  for (const std::string& bad : all) {
    EXPECT_FALSE(KeySet::read(SigningKey::set(bad))) << bad;
    EXPECT_EQ(set_of(bad + "," + good.jwk()).size(), 1) << bad;
  }
}

TEST(Jwks, the_token_selects_one_of_several_keys) {
  const SigningKey first(Kind::p256, "first");
  const SigningKey second(Kind::p256, "second");
  const KeySet set = set_of(first.jwk() + "," + second.jwk());
  EXPECT_EQ(judged(set, first.token(claims)), Finding::genuine);
  EXPECT_EQ(judged(set, second.token(claims)), Finding::genuine);
  EXPECT_EQ(judged(set, SigningKey(Kind::p256, "third").token(claims)), Finding::unknown_key);
  const std::string silent = R"({"typ":"at+jwt","alg":"ES256"})";
  EXPECT_EQ(judged(set, first.token(silent, claims)), Finding::forged);
  const KeySet one = set_of(first.jwk() + "," + key_of(Kind::rsa).jwk());
  EXPECT_EQ(judged(one, first.token(silent, claims)), Finding::genuine);
  // The issuer may have another one by now.
  EXPECT_EQ(judged(one, second.token(silent, claims)), Finding::unknown_key);
}

TEST(Jwks, a_too_large_or_invalid_set_is_rejected) {
  const std::string good = key_of(Kind::p256).jwk();
  const auto why = [](const std::string& text) {
    const auto set = KeySet::read(text);
    return set ? std::string("it is read") : set.error();
  };
  EXPECT_THAT(why(std::string(std::size_t{10} * 1024 * 1024, ' ') + SigningKey::set(good)),
              HasSubstr("256 KB"));
  std::string many = good;
  for (std::size_t i = 1; i < KeySet::most_keys; ++i) many += "," + good;
  EXPECT_EQ(why(SigningKey::set(many)), "it is read");
  EXPECT_THAT(why(SigningKey::set(many + "," + good)), HasSubstr("more than 64 keys"));
  EXPECT_THAT(why("{}"), HasSubstr("no list \"keys\""));
  EXPECT_THAT(why(R"({"keys":{}})"), HasSubstr("no list \"keys\""));
  EXPECT_THAT(why(R"({"keys":[]})"), HasSubstr("none of the 0 keys"));
  EXPECT_THAT(why(R"({"keys":[],"keys":[)" + good + "]}"), HasSubstr("valid JSON"));
  EXPECT_THAT(why("<html>"), HasSubstr("valid JSON"));
  EXPECT_THAT(why(""), HasSubstr("valid JSON"));
}

}  // namespace
}  // namespace mcpivot
