#include "mcp/catalog.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

Catalog with_tools(std::string_view tools) {
  Catalog catalog;
  catalog.add_page(ListKind::tools, R"({"tools":)" + std::string(tools) + "}");
  return catalog;
}

TEST(Catalog, keeps_items_as_the_server_wrote_them) {
  Catalog catalog;
  EXPECT_EQ(catalog.add_page(ListKind::tools, R"({"tools":[{ "name" : "a", "x":1.0}],"nextCursor":"p2"})"),
            R"("p2")");
  EXPECT_EQ(catalog.add_page(ListKind::tools, R"({"tools":[{"name":"b\u0063"}]})"), "");
  ASSERT_EQ(catalog.list(ListKind::tools).size(), 2U);
  EXPECT_EQ(catalog.find(ListKind::tools, "a")->json, R"({ "name" : "a", "x":1.0})");
  EXPECT_NE(catalog.find(ListKind::tools, "bc"), nullptr);
  EXPECT_EQ(catalog.find(ListKind::tools, "z"), nullptr);
}

TEST(Catalog, survives_malformed_results) {
  Catalog catalog;
  for (const char* result : {"", "null", "{}", R"({"tools":5})", R"({"tools":[1,{"name":2},{}]})"})
    EXPECT_EQ(catalog.add_page(ListKind::tools, result), "");
  EXPECT_TRUE(catalog.list(ListKind::tools).empty());
}

TEST(Catalog, a_diff_names_the_items) {
  const Catalog before = with_tools(R"([{"name":"same"},{"name":"changed","v":1},{"name":"gone"}])");
  Catalog after = with_tools(R"([{"name":"changed","v":2},{"name":"same"},{"name":"new"}])");
  after.add_page(ListKind::prompts, R"({"prompts":[{"name":"review"}]})");
  const Diff diff = compare(before, after);
  EXPECT_EQ(diff.text(), "tools: +new, ~changed (v), -gone. prompts: +review.");
  EXPECT_TRUE(compare(after, after).empty());
}

TEST(Catalog, a_diff_says_what_changed_in_a_tool) {
  const Catalog before = with_tools(R"([{"name":"read_file","inputSchema":{"properties":{"path":{}}}}])");
  const Catalog after =
      with_tools(R"([{"name":"read_file","inputSchema":{"properties":{"path":{},"limit":{}}}}])");
  EXPECT_EQ(compare(before, after).text(), "tools: ~read_file (inputSchema: +limit).");
  const Catalog spaced = with_tools(R"([{"name":"read_file", "inputSchema":{"properties":{"path":{}}}}])");
  EXPECT_EQ(compare(before, spaced).text(), "tools: ~read_file.")
      << "other bytes, and nothing to tell of them";
}

TEST(Catalog, a_long_diff_is_truncated_and_says_so) {
  std::string tools = "[";
  for (int i = 0; i < 100; ++i)
    tools += (i == 0 ? "" : ",") + (R"({"name":"tool)" + std::to_string(i) + R"("})");
  const std::string text = compare(Catalog(), with_tools(tools + "]")).text();
  EXPECT_NE(text.find("and 70 more"), std::string::npos) << text;
}

TEST(Catalog, knows_which_tools_may_be_retried) {
  auto safe = [](std::string_view annotations) {
    return is_safe_to_repeat({"t", R"({"name":"t","annotations":)" + std::string(annotations) + "}"});
  };
  EXPECT_TRUE(safe(R"({"readOnlyHint":true})"));
  EXPECT_TRUE(safe(R"({"readOnlyHint":false,"idempotentHint":true})"));
  EXPECT_FALSE(safe(R"({"readOnlyHint":false})"));
  EXPECT_FALSE(safe("{}"));
  EXPECT_FALSE(is_safe_to_repeat({"t", R"({"name":"t"})"}));
}

}  // namespace
}  // namespace mcpivot
