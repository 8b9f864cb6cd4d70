#include "oauth/form.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(Form, is_decoded_as_it_was_encoded) {
  const FormFields fields{{"resource", "https://a.example/mcp?x=1&y=ä"}, {"empty", ""}, {"a b", "c+d%"}};
  EXPECT_EQ(parse_form(form_text(fields)), fields);
  EXPECT_EQ(form_text({{"resource", "http://x/"}}), "resource=http%3A%2F%2Fx%2F");
}

TEST(Form, malformed_escapes_are_taken_literally) {
  EXPECT_EQ(parse_form("a=%&b=%4&c=%zz&&d&e=%41+"),
            (FormFields{{"a", "%"}, {"b", "%4"}, {"c", "%zz"}, {"d", ""}, {"e", "A "}}));
}

TEST(Form, a_duplicate_field_has_no_value) {
  EXPECT_EQ(only_field(parse_form("code=1&state=2&code=3"), "code"), std::nullopt);
  EXPECT_EQ(only_field(parse_form("code=1&state=2"), "state"), "2");
}

}  // namespace
}  // namespace mcpivot
