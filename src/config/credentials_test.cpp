#include "config/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::expected<Credentials, std::string> made(const std::vector<std::string>& headers) {
  static const std::map<std::string, std::string> environment{
      {"TOKEN", "s3cret"}, {"EMPTY", ""}, {"EVIL", "a\r\nX: y"}};
  return Credentials::from_headers(headers, [](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Credentials, variables_are_expanded) {
  EXPECT_EQ(made({"Authorization: Bearer ${TOKEN}", "X-A:b", "X-B: ${NONE:-x}${EMPTY:-y}-${TOKEN}"})->lines(),
            "Authorization: Bearer s3cret\r\nX-A: b\r\nX-B: xy-s3cret\r\n");
  EXPECT_EQ(made({})->lines(), "");
}

TEST(Credentials, an_error_never_shows_a_value) {
  for (const auto& [header, why] :
       {std::pair{"no colon", "Name: value"},
        {"Bad Name: x", "Name: value"},
        {": x", "Name: value"},
        {"A: ${NONE}", "variable NONE"},
        {"A: ${EMPTY}", "variable EMPTY"},
        {"A: ${TOKEN", "without a }"},
        {"A: ${EVIL}", "line end"},
        {"Mcp-Session-Id: s3cret", "mcpivot sets the header Mcp-Session-Id itself"},
        {"content-length: 5", "mcpivot sets the header content-length itself"}}) {
    const auto credentials = made({header});
    ASSERT_FALSE(credentials) << header;
    EXPECT_THAT(credentials.error(), AllOf(HasSubstr(why), Not(HasSubstr("s3cret")))) << header;
  }
}

TEST(Credentials, the_advice_names_only_headers_and_variables) {
  EXPECT_THAT(made({"Authorization: Bearer ${TOKEN}", "X-Key: k3y"})->advice(),
              AllOf(HasSubstr("Authorization"), HasSubstr("TOKEN"), HasSubstr("X-Key"),
                    Not(HasSubstr("s3cret")), Not(HasSubstr("k3y"))));
  EXPECT_THAT(made({})->advice(), HasSubstr("--header"));
}

}  // namespace
}  // namespace mcpivot
