#include "oauth/jwt.h"

#include <gtest/gtest.h>

#include "host/signing_key.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

constexpr sys_seconds now{1'800'000'000s};
constexpr const char* header = R"({"alg":"ES256","typ":"at+jwt","kid":"a"})";
constexpr const char* claims =
    R"({"iss":"https://issuer.example","sub":"alice","aud":"https://mcp.example/mcp","exp":1800000600,)"
    R"("iat":1800000000,"scope":"read  write"})";
const JwtRules rules{.issuer = "https://issuer.example", .audience = "https://mcp.example/mcp"};

// With a signature that isn't checked here.
std::string token(const std::string& head, const std::string& body) {
  return host::base64url(head) + "." + host::base64url(body) + ".AAAA";
}

std::string why_not(const std::string& head, const std::string& body) {
  const auto read = read_jwt(token(head, body));
  return read ? "it is read" : std::string(read.error());
}

// The claims of a valid token, some of them replaced.
std::string with(std::string what, const std::string& by) {
  std::string text = claims;
  return text.replace(text.find(what), what.size(), by);
}

std::string fault(const std::string& body, sys_seconds at = now) {
  const auto read = read_jwt(token(header, body));
  if (!read) return std::string(read.error());
  return std::string(fault_in_claims(*read, rules, at).value_or("none"));
}

TEST(Jwt, a_valid_token_is_parsed) {
  const std::string text = token(header, claims);
  const auto read = read_jwt(text);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->algorithm, JwtAlgorithm::es256);
  EXPECT_EQ(read->kid, "a");
  EXPECT_EQ(read->content, text.substr(0, text.rfind('.')));
  EXPECT_EQ(read->signature, std::string(3, '\0'));
  EXPECT_EQ(read->issuer, "https://issuer.example");
  EXPECT_EQ(read->subject, "alice");
  EXPECT_EQ(read->audiences, std::vector<std::string>{"https://mcp.example/mcp"});
  EXPECT_EQ(read->scopes, (std::vector<std::string>{"read", "write"}));
  EXPECT_EQ(read->expires, now + 600s);
  EXPECT_EQ(fault(claims), "none");
}

TEST(Jwt, only_listed_algorithms_are_accepted) {
  const auto by = [](const std::string& alg) {
    return why_not(R"({"typ":"at+jwt","alg":)" + alg + "}", claims);
  };
  for (const char* good : {"RS256", "PS256", "ES256", "ES384", "EdDSA"})
    EXPECT_EQ(by('"' + std::string(good) + '"'), "it is read") << good;
  for (const char* bad :
       {R"("none")", R"("None")", R"("")", R"("HS256")", R"("HS512")", R"("RS1")", R"("RS512")", R"("ES512")",
        R"("ES256K")", R"("rs256")", R"("RS256 ")", "null", "[]", R"(["RS256"])", "1"})
    EXPECT_EQ(by(bad), "the token is signed with an algorithm that isn't accepted") << bad;
  EXPECT_EQ(why_not(R"({"typ":"at+jwt"})", claims),
            "the token is signed with an algorithm that isn't accepted");
}

TEST(Jwt, only_access_tokens_are_accepted) {
  const auto of = [](const std::string& type) { return why_not(R"({"alg":"RS256")" + type + "}", claims); };
  for (const char* good : {R"(,"typ":"at+jwt")", R"(,"typ":"application/at+jwt")", R"(,"typ":"AT+JWT")"})
    EXPECT_EQ(of(good), "it is read") << good;
  for (const char* bad : {"", R"(,"typ":"JWT")", R"(,"typ":"id+jwt")", R"(,"typ":"at+jwtx")",
                          R"(,"typ":null)", R"(,"typ":"dpop+jwt")"})
    EXPECT_EQ(of(bad), "the token's typ isn't at+jwt") << bad;
}

TEST(Jwt, any_critical_header_is_rejected) {
  for (const char* crit : {R"(["exp"])", "[]", R"(["b64"])", "null"})
    EXPECT_EQ(why_not(R"({"alg":"ES256","typ":"at+jwt","crit":)" + std::string(crit) + "}", claims),
              "the token has critical headers");
}

TEST(Jwt, an_ambiguous_token_is_rejected) {
  EXPECT_EQ(why_not(R"({"alg":"ES256","typ":"at+jwt","alg":"RS256"})", claims),
            "the token's header is invalid");
  EXPECT_EQ(why_not(R"({"alg":"ES256","typ":"at+jwt","\u0061lg":"RS256"})", claims),
            "the token's header is invalid");
  EXPECT_EQ(fault(with(R"("sub":"alice")", R"("sub":"alice","sub":"bob")")),
            "the token's claims are invalid");
  EXPECT_EQ(fault(with(R"("sub":"alice")", R"("sub":"alice","s\u0075b":"bob")")),
            "the token's claims are invalid");
  EXPECT_EQ(fault(with(R"("sub":"alice")", R"("sub":"alice","x":1,"x":1)")),
            "the token's claims are invalid");
  for (const char* half :
       {R"(\ud800)", R"(\udc00)", R"(\ud800\u0061)", R"(\ud800\\udc00)", R"(\udc00\ud800)"})
    EXPECT_EQ(fault(with(R"("sub")", R"("x":")" + std::string(half) + R"(","sub")")),
              "the token's claims are invalid")
        << half;
  EXPECT_EQ(fault(with(R"("sub")", R"("x":"\\ud800 \ud83d\ude00 \u00e9","sub")")), "none");
  EXPECT_EQ(fault(std::string(claims) + " {}"), "the token's claims are invalid");
  EXPECT_EQ(fault(with("alice", "al\xFFice")), "the token's claims are invalid");
}

TEST(Jwt, anything_but_a_signed_jwt_is_rejected) {
  const std::string good = token(header, claims);
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string("..."), std::string("abc"),
        good.substr(0, good.rfind('.')), good + ".AAAA", good + ".AAAA.AAAA",
        good.substr(0, good.rfind('.') + 1), " " + good, good + "=", good + "\n", token("[]", claims),
        token(header, "[]"), token(header, "\"x\""), token("", claims), token("{", claims),
        token(header, "{\"a\":}")})
    EXPECT_FALSE(read_jwt(bad)) << bad;
}

TEST(Jwt, a_too_long_token_is_rejected_unread) {
  const std::string padding = R"("sub":"alice","x":")" + std::string(Jwt::longest, 'x') + '"';
  EXPECT_EQ(fault(with(R"("sub":"alice")", padding)), "the token is too long");
}

TEST(Jwt, a_key_id_must_be_a_valid_string) {
  for (const std::string& kid : {std::string("1"), std::string("\"\""), std::string("null"),
                                 '"' + std::string(Jwt::longest_kid + 1, 'k') + '"'})
    EXPECT_EQ(why_not(R"({"alg":"ES256","typ":"at+jwt","kid":)" + kid + "}", claims),
              "the token's kid is invalid");
}

TEST(Jwt, must_be_from_our_issuer_and_for_our_audience) {
  const std::string issuer = "https://issuer.example";
  for (const char* other : {"https://issuer.example/", "https://ISSUER.example", "https://evil.example", ""})
    EXPECT_EQ(fault(with(issuer, other)), "the token is from another issuer") << other;
  EXPECT_EQ(fault(with(R"("iss":"https://issuer.example",)", "")), "the token has no iss");
  const std::string ours = R"("https://mcp.example/mcp")";
  const auto for_audience = [&](const std::string& json) { return fault(with(ours, json)); };
  EXPECT_EQ(for_audience("[" + ours + "]"), "none");
  EXPECT_EQ(for_audience(R"(["other",)" + ours + "]"), "none");
  for (const char* other : {R"("https://mcp.example")", R"("https://mcp.example/mcp/")", "[]", R"(["other"])",
                            R"(["https://mcp.example/mcp https://other"])", R"("")"})
    EXPECT_EQ(for_audience(other), "the token is for another audience") << other;
  for (const std::string& odd : {std::string("1"), std::string("{}"), std::string("null"), "[" + ours + ",1]",
                                 "[[" + ours + "]]", "{" + ours + ":1}"})
    EXPECT_EQ(for_audience(odd), "the token's aud is neither a string nor a list of strings") << odd;
}

TEST(Jwt, must_be_currently_valid_within_a_minute) {
  const sys_seconds expires = now + 600s;
  EXPECT_EQ(fault(claims, expires + 59s), "none");
  EXPECT_EQ(fault(claims, expires + 60s), "the token has expired");
  EXPECT_EQ(fault(claims, expires + 300s), "the token has expired");
  EXPECT_EQ(fault(claims, now - 60s), "none");
  EXPECT_EQ(fault(claims, now - 61s), "the token was issued in the future");
  EXPECT_EQ(fault(claims, now - 300s), "the token was issued in the future");
  const std::string later = with(R"("iat":1800000000)", R"("nbf":1800000000)");
  EXPECT_EQ(fault(later, now - 60s), "none");
  EXPECT_EQ(fault(later, now - 61s), "the token isn't valid yet");
  EXPECT_EQ(fault(later, now - 300s), "the token isn't valid yet");
}

TEST(Jwt, times_must_be_numbers) {
  const auto expires = [](const std::string& json) { return fault(with("1800000600", json)); };
  for (const char* good : {"1800000600.5", "1.8000006e9", "1e300", "99999999999999999999"})
    EXPECT_EQ(expires(good), "none") << good;
  for (const char* bad : {"-1", "\"1800000600\"", "null", "true", "[1800000600]", "1e999"})
    EXPECT_EQ(expires(bad), "the token has no exp") << bad;
  EXPECT_EQ(expires("0"), "the token has expired");
  EXPECT_EQ(fault(with(R"("exp":1800000600,)", "")), "the token has no exp");
  EXPECT_EQ(fault(with(R"("iat":1800000000)", R"("nbf":"soon")")),
            "the token has an nbf or iat that isn't a time");
}

// It appears in logs and tables, and identifies the owner of a session.
TEST(Jwt, the_subject_must_be_a_short_line_of_ascii) {
  const auto subject = [](const std::string& json) { return fault(with(R"("alice")", json)); };
  EXPECT_EQ(subject(R"("auth0|5f7c 8")"), "none");
  EXPECT_EQ(subject('"' + std::string(255, 'a') + '"'), "none");
  for (const std::string& bad :
       {std::string(R"("")"), std::string("7"), std::string("null"), std::string(R"("a\nb")"),
        std::string(R"("a\u0000b")"), std::string(R"("\u202ea")"), std::string(R"(" ")"),
        std::string(R"(" alice")"), std::string(R"("alice ")"), '"' + std::string(256, 'a') + '"'})
    EXPECT_EQ(subject(bad), "the token has no usable sub") << bad;
}

TEST(Jwt, the_scope_must_be_a_string_of_words) {
  EXPECT_EQ(fault(with(R"("read  write")", "[]")), "the token's scope isn't a string");
  const auto none = read_jwt(token(header, with(R"("read  write")", R"("")")));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->scopes.empty());
}

}  // namespace
}  // namespace mcpivot
