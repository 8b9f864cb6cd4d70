#include "cli/pretty_json.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(PrettyJson, keeps_the_spelling_and_breaks_long_lines) {
  EXPECT_EQ(pretty_json(R"({"b":1.0e3,"a":"\u00e9","c":[1,{"d":"x"}]})", 80),
            R"({"b": 1.0e3, "a": "\u00e9", "c": [1, {"d": "x"}]})");
  EXPECT_EQ(pretty_json(R"({"b":1.0e3,"a":"\u00e9","c":[1,{"d":"x"}],"e":{},"f":[]})", 24),
            "{\n  \"b\": 1.0e3,\n  \"a\": \"\\u00e9\",\n  \"c\": [1, {\"d\": \"x\"}],\n  \"e\": {},\n  "
            "\"f\": []\n}");
  EXPECT_EQ(pretty_json(" [ ] "), "[]");
  EXPECT_EQ(pretty_json(R"("x")"), R"("x")");
  EXPECT_EQ(pretty_json("not json {"), "not json {");
}

}  // namespace
}  // namespace mcpivot
