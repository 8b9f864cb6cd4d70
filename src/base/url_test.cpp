#include "base/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::HasSubstr;

TEST(Url, is_parsed_and_formatted_again) {
  const auto url = parse_url("http://127.0.0.1:8080/mcp?x=1#part");
  ASSERT_TRUE(url);
  EXPECT_FALSE(url->tls);
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->target, "/mcp?x=1");
  EXPECT_EQ(url->text(), "http://127.0.0.1:8080/mcp?x=1");
  EXPECT_EQ(parse_url("HTTPS://Example.com")->text(), "https://example.com/");
  EXPECT_EQ(parse_url("http://[::1]:80/a")->text(), "http://[::1]/a");
  EXPECT_EQ(parse_url("https://h:444?q")->text(), "https://h:444/?q");
}

TEST(Url, that_is_invalid_is_rejected_with_the_reason) {
  for (const auto& [text, why] : {std::pair{"", "begin with"},
                                  {"localhost:8080", "begin with"},
                                  {"ftp://x/", "begin with"},
                                  {"http:///mcp", "no host"},
                                  {"http://h:0/", "port"},
                                  {"http://h:70000/", "port"},
                                  {"http://h:/", "port"},
                                  {"http://h:8x/", "port"},
                                  {"http://[::1/", "']'"},
                                  {"http://h/a b", "a space"},
                                  {"http://h/\r\nX: y", "a control character"},
                                  {"http://ex*ample/", "invalid character"},
                                  {"http://me:secret@h/", "--header"}}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error(), HasSubstr(why)) << text;
  }
  EXPECT_THAT(parse_url("http://me:secret@h/").error(), testing::Not(HasSubstr("secret")));
}

TEST(Url, references_are_resolved_against_the_page_they_are_on) {
  const Url base = *parse_url("http://h:1/a/sse?x=1");
  EXPECT_EQ(resolve_reference(base, "/message?s=1")->text(), "http://h:1/message?s=1");
  EXPECT_EQ(resolve_reference(base, "message")->text(), "http://h:1/a/message");
  EXPECT_EQ(resolve_reference(base, "?s=2")->text(), "http://h:1/a/sse?s=2");
  EXPECT_EQ(resolve_reference(base, "//other/x")->text(), "http://other/x");
  EXPECT_EQ(resolve_reference(base, "https://h/x?u=http://y")->text(), "https://h/x?u=http://y");
  EXPECT_EQ(resolve_reference(base, "/x?u=http://y")->text(), "http://h:1/x?u=http://y");
  EXPECT_FALSE(resolve_reference(base, ""));
  EXPECT_FALSE(resolve_reference(base, "/a b"));
}

}  // namespace
}  // namespace mcpivot
