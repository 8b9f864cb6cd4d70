#include "journal/redactor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

std::string redacted(const Redactor& redactor, std::string text) {
  redactor.redact(text);
  JsonCursor cursor(text);
  EXPECT_TRUE(!text.starts_with('{') || (cursor.value() && cursor.end())) << text;
  return text;
}

TEST(Redactor, leaves_what_is_not_secret_unchanged) {
  const Redactor redactor({{"KEY", "hunter2hunter2"}}, {});
  for (std::string text : {R"({"a":"task-force-of-many-words risk-averse", "b": [1,-2.5e3,true]})",
                           R"({"text":"see https://example.com/a:b@c and Bearer authentication"})",
                           R"({"name":"eyJust","progressToken":5,"x":"line\nline\u00e9"})", ""}) {
    const std::string before = text;
    EXPECT_EQ(redactor.redact(text), 0U) << text;
    EXPECT_EQ(text, before);
  }
}

TEST(Redactor, replaces_configured_values_in_any_spelling) {
  const Redactor redactor({{"API_KEY", "se\"cr/et\\é"}, {"PIN", "12345678"}}, {});
  EXPECT_EQ(redacted(redactor, R"({"a":"x se\"cr/et\\é y"})"), R"({"a":"x [redacted API_KEY] y"})");
  EXPECT_EQ(redacted(redactor, R"({"a":"x se\u0022cr\/et\\\u00e9 y"})"), R"({"a":"x [redacted API_KEY] y"})");
  EXPECT_EQ(redacted(redactor, R"({"a":"{\"b\":\"se\\\"cr/et\\\\é\"}"})"),
            R"({"a":"{\"b\":\"[redacted API_KEY]\"}"})");
  EXPECT_EQ(redacted(redactor, R"({"a":12345678,"b":123456789,"c":"PIN 12345678"})"),
            R"({"a":"[redacted PIN]","b":123456789,"c":"PIN [redacted PIN]"})");
  EXPECT_EQ(redacted(redactor, R"(panic: se"cr/et\é)"), "panic: [redacted API_KEY]");
  EXPECT_EQ(redacted(redactor, R"({"se\"cr/et\\é":1})"), R"({"[redacted API_KEY]":1})");
}

TEST(Redactor, recognizes_tokens_by_their_shape) {
  const Redactor redactor;
  for (const char* token :
       {"sk-proj-Abcdefghijklmnop1234", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "xoxb-12345678901-abcdef",
        "AKIAIOSFODNN7EXAMPLE", "github_pat_11ABCDEFG0123456789_abc", "glpat-abcdefgh12345678",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123"}) {
    EXPECT_EQ(redacted(redactor, fmt::format(R"({{"text":"use {}, please"}})", token)),
              R"({"text":"use [redacted token], please"})")
        << token;
    EXPECT_EQ(redacted(redactor, fmt::format(R"({{"text":"{{\"k\":\"{}\"}}"}})", token)),
              R"({"text":"{\"k\":\"[redacted token]\"}"})")
        << token;
  }
  EXPECT_EQ(redacted(redactor, R"({"t":"sk\u002dproj\u002dAbcdefghijklmnop1234"})"),
            R"({"t":"[redacted token]"})");
  EXPECT_EQ(redacted(redactor, R"({"t":"Authorization: Bearer abcdef0123456789abcdef"})"),
            R"({"t":"Authorization: Bearer [redacted token]"})");
  EXPECT_EQ(redacted(redactor, R"({"t":"postgres://me:pass1@db/x"})"),
            R"({"t":"postgres://me:[redacted token]@db/x"})");
  EXPECT_EQ(redacted(redactor,
                     R"({"t":"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest"})"),
            R"({"t":"[redacted token]\nrest"})");
}

TEST(Redactor, replaces_the_values_of_secret_keys) {
  const Redactor redactor;
  EXPECT_EQ(
      redacted(redactor, R"({"password" : "x","api_key":"y","apiKey":"","token_count":"3","tokens":5})"),
      R"({"password" : "[redacted password]","api_key":"[redacted api_key]","apiKey":"","token_count":"3","tokens":5})");
}

TEST(Redactor, replaces_secret_lists_and_numbers_and_keys_with_secret_suffixes) {
  const Redactor redactor;
  EXPECT_EQ(
      redacted(redactor, R"({"password":12345,"n":{"DB_PASSWORD":"x"},"Set-Cookie":["a=1","b=2"],"z":"a"})"),
      R"({"password":"[redacted password]","n":{"DB_PASSWORD":"[redacted DB_PASSWORD]"},)"
      R"("Set-Cookie":["[redacted Set-Cookie]","[redacted Set-Cookie]"],"z":"a"})");
  EXPECT_EQ(redacted(redactor, R"({"pass\u0077ord":"x","password":null,"secret":{"a":"b"},"c":["d"]})"),
            R"({"pass\u0077ord":"[redacted password]","password":null,"secret":{"a":"b"},"c":["d"]})");
  EXPECT_EQ(
      redacted(redactor, R"({"required":["password","token"],"properties":{"token":{"type":"string"}}})"),
      R"({"required":["password","token"],"properties":{"token":{"type":"string"}}})");
}

TEST(Redactor, replaces_secret_variables_in_a_printed_environment) {
  EXPECT_EQ(
      redacted(
          Redactor(),
          R"({"text":"{\"GITHUB_TOKEN\": \"abc def\", \"MAX_TOKENS\": \"4096\", \"HOME\": \"/root\"}"})"),
      R"({"text":"{\"GITHUB_TOKEN\": \"[redacted GITHUB_TOKEN]\", \"MAX_TOKENS\": \"4096\", \"HOME\": \"/root\"}"})");
  EXPECT_EQ(
      redacted(Redactor(), R"({"env":{"GITHUB_TOKEN":"abc","NPM_KEY":"abcd","nextPageToken":"abcdef"}})"),
      R"({"env":{"GITHUB_TOKEN":"abc","NPM_KEY":"[redacted NPM_KEY]","nextPageToken":"abcdef"}})");
}

// What is in `structuredContent` is in `content` as text, too.
TEST(Redactor, replaces_the_values_of_secret_keys_in_json_within_text) {
  const Redactor redactor;
  EXPECT_EQ(
      redacted(redactor, R"({"text":"{\"user\": \"ada\", \"password\": \"hunter2\",\n \"pin_token\":1}"})"),
      R"({"text":"{\"user\": \"ada\", \"password\": \"[redacted password]\",\n \"pin_token\":1}"})");
  EXPECT_EQ(
      redacted(redactor, R"({"text":"Saved: {\"apiKey\":\"a\\\"b\",\"secret\":42,\"x\":[\"y\"]}"})"),
      R"({"text":"Saved: {\"apiKey\":\"[redacted apiKey]\",\"secret\":\"[redacted secret]\",\"x\":[\"y\"]}"})");
  EXPECT_EQ(
      redacted(redactor, R"({"text":"{\"body\":\"{\\\"token\\\":\\\"abc\\\",\\\"secret\\\":7}\"}"})"),
      R"({"text":"{\"body\":\"{\\\"token\\\":\\\"[redacted token]\\\",\\\"secret\\\":\\\"[redacted secret]\\\"}\"}"})");
  EXPECT_EQ(redacted(redactor, R"(stderr: {"password": "hunter2"})"),
            R"(stderr: {"password": "[redacted password]"})");
}

TEST(Redactor, replaces_secrets_in_urls) {
  const Redactor redactor({{"KEY", "p@ss/word"}}, {});
  EXPECT_EQ(redacted(redactor, R"({"u":"https://x.org/a?q=1&access_token=abc.def&z=2"})"),
            R"({"u":"https://x.org/a?q=1&access_token=[redacted access_token]&z=2"})");
  EXPECT_EQ(
      redacted(redactor,
               R"({"u":"https://x.org/a?key=abc, then","v":"https://s3/b?X-Amz-Signature=0f1e#x"})"),
      R"({"u":"https://x.org/a?key=[redacted key], then","v":"https://s3/b?X-Amz-Signature=[redacted X-Amz-Signature]#x"})");
  EXPECT_EQ(redacted(redactor, R"({"u":"https://x.org/p%40ss%2Fword?page=2&keys=3"})"),
            R"({"u":"https://x.org/[redacted KEY]?page=2&keys=3"})");
}

// Ten megabytes of almost a token must not stop the journal.
TEST(Redactor, is_as_fast_for_text_that_only_begins_like_a_token) {
  const Redactor redactor;
  for (const char* part : {"sk-", "eyJ-", "-----BEGIN ", "xoxb-", "&key", "\\\"a\\\":", "bearer "}) {
    std::string text = R"({"t":")";
    while (text.size() < 4'000'000) text += part;
    text += "\"}";
    EXPECT_EQ(redactor.redact(text), 0U) << part;
  }
}

TEST(Redactor, json_may_begin_with_whitespace) {
  const Redactor redactor;
  EXPECT_EQ(
      redacted(redactor, " \r\n\t{\"password\":[\"aaaaaaaa1\",{\"pass\\u0077ord\":\"leakedsecret2\"}]}"),
      " \r\n\t{\"password\":[\"[redacted password]\",{\"pass\\u0077ord\":\"[redacted password]\"}]}");
}

TEST(Redactor, replaces_whole_lists_of_json_within_text) {
  const Redactor redactor;
  EXPECT_EQ(
      redacted(redactor, R"({"text":"{\"password\":[\"a\", \"leakedsecretB\",5,\"c\"],\"b\":[\"d\"]}"})"),
      R"({"text":"{\"password\":[\"[redacted password]\", \"[redacted password]\",)"
      R"(\"[redacted password]\",\"[redacted password]\"],\"b\":[\"d\"]}"})");
  EXPECT_EQ(redacted(redactor, R"(it says "token":["", "b" , "unfinished)"),
            R"(it says "token":["", "[redacted token]" , "[redacted token])");
}

TEST(Redactor, a_key_is_secret_by_its_suffix) {
  const Redactor redactor;
  const std::string longest(100, 'x');
  for (const std::string& key :
       {std::string("db.password"), std::string("user password"), longest + ".password"}) {
    EXPECT_EQ(redacted(redactor, fmt::format(R"({{"{}":"x"}})", key)),
              fmt::format(R"({{"{}":"[redacted password]"}})", key));
    EXPECT_EQ(redacted(redactor, fmt::format(R"({{"text":"see {{\"{}\":\"x\"}}"}})", key)),
              fmt::format(R"({{"text":"see {{\"{}\":\"[redacted password]\"}}"}})", key));
  }
  EXPECT_EQ(redacted(redactor, R"({"a\"b password\"":"x"})"), R"({"a\"b password\"":"[redacted]"})");
}

TEST(Redactor, patterns_match_within_strings_and_leave_valid_json) {
  const Redactor redactor({}, {"customer-\\d+", "pass=\\S+"});
  EXPECT_EQ(redacted(redactor, R"({"a":"customer-17 ü customer-4","b":"pass=hunter2"})"),
            R"({"a":"[redacted] ü [redacted]","b":"[redacted]"})");
}

TEST(Redactor, a_pattern_that_takes_too_long_hides_too_much_rather_than_too_little) {
  const Redactor redactor({}, {"(a+)+(a+)+(a+)+(a+)+$"});
  EXPECT_EQ(redacted(redactor, R"({"a":")" + std::string(200, 'a') + R"(b"})"), R"({"a":"[redacted]"})");
}

TEST(Redactor, an_invalid_pattern_hides_everything) {
  const Redactor redactor({}, {"(["});
  EXPECT_EQ(redacted(redactor, R"({"a":"some text","b":5})"),
            R"({"[redacted]":"[redacted]","[redacted]":5})");
}

TEST(Redactor, knows_what_is_secret_in_the_configuration) {
  EXPECT_TRUE(Redactor::is_secret("API_KEY", "abcd"));
  EXPECT_TRUE(Redactor::is_secret("DATABASE_URL", "postgres://x"));
  EXPECT_FALSE(Redactor::is_secret("DEBUG", "true"));
  EXPECT_FALSE(Redactor::is_secret("PORT", "8080"));
  EXPECT_FALSE(Redactor::is_secret("USE_AUTH", "true"));
  EXPECT_FALSE(Redactor::is_secret("MAX_TOKENS", "4096"));
  EXPECT_TRUE(Redactor::is_secret("PASS_CODE", "123456"));
  EXPECT_FALSE(Redactor::is_secret("SSL_KEY_FILE", "/etc/passwd"));
  EXPECT_FALSE(Redactor::is_secret("DATA", "/usr/share"));
  EXPECT_TRUE(Redactor::is_secret("DATA", "/not/a/path/at/all"));
}

}  // namespace
}  // namespace mcpivot
