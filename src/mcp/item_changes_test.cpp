#include "mcp/item_changes.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(ItemChanges, are_listed_by_member_and_those_of_a_schema_by_property) {
  EXPECT_EQ(
      item_changes(R"({"name":"t","description":"a","inputSchema":{"properties":{"path":{}}}})",
                   R"({"name":"t","description":"b","inputSchema":{"properties":{"path":{},"limit":{}}}})"),
      "inputSchema: +limit; description");
  EXPECT_EQ(item_changes(R"({"inputSchema":{"properties":{"a":{"type":"string"},"b":{}},"required":[]}})",
                         R"({"inputSchema":{"properties":{"a":{"type":"number"}},"required":["a"]}})"),
            "inputSchema: ~a, -b, required");
  EXPECT_EQ(item_changes(R"({"title":"T"})", R"({"outputSchema":{},"annotations":{}})"),
            "+annotations; +outputSchema; -title");
  EXPECT_EQ(item_changes(R"({"inputSchema":{},"outputSchema":{"properties":{"n":1}}})",
                         R"({"inputSchema":{"properties":{}},"outputSchema":{"properties":{"n":2}}})"),
            "inputSchema: +properties; outputSchema: ~n");
}

TEST(ItemChanges, do_not_include_order_and_spacing) {
  EXPECT_EQ(item_changes(R"({"name":"t","x":1})", R"({ "x":1, "name":"t" })"), "");
}

TEST(ItemChanges, are_bounded_in_number_and_length) {
  std::string many = R"({"inputSchema":{"properties":{)";
  for (int i = 0; i < 10'000; ++i)
    many += (i == 0 ? "\"" : ",\"") + std::string(1'000, 'x') + std::to_string(i) + "\":{}";
  const std::string changes = item_changes(R"({"inputSchema":{"properties":{}}})", many + "}}}");
  EXPECT_LT(changes.size(), 250U);
  EXPECT_TRUE(changes.ends_with(", …")) << changes;
  EXPECT_EQ(item_changes(R"({})", R"({"a":1,"b":1,"c":1,"d":1})"), "+a; +b; +c; +d");
  EXPECT_EQ(item_changes(R"({})", R"({"a":1,"b":1,"c":1,"d":1,"e":1})"), "+a; +b; +c; +d, …");
}

TEST(ItemChanges, stay_on_one_line_whatever_the_names) {
  const std::string changes = item_changes("{}", R"({"a\nb":1})");
  EXPECT_EQ(changes.find('\n'), std::string::npos);
  EXPECT_TRUE(changes.starts_with("+a")) << changes;
}

TEST(ItemChanges, are_empty_for_values_that_are_not_objects) {
  for (const char* text : {"", "null", "[1]", "{"}) EXPECT_EQ(item_changes(text, text), "") << text;
}

}  // namespace
}  // namespace mcpivot
