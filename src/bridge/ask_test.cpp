#include "bridge/ask.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(Ask, identifies_each_question_by_its_method) {
  for (const Ask ask : {Ask::elicitation, Ask::sampling, Ask::roots}) EXPECT_EQ(ask_of(method_of(ask)), ask);
  EXPECT_EQ(ask_of("tools/list"), std::nullopt);
}

TEST(Ask, names_the_capability_that_the_client_lacks) {
  EXPECT_EQ(missing_capability(Ask::roots, "", "{}"), "roots");
  EXPECT_EQ(missing_capability(Ask::roots, "", R"({"roots":{}})"), "");
  EXPECT_EQ(missing_capability(Ask::roots, "", R"({"roots":null})"), "roots");
  EXPECT_EQ(missing_capability(Ask::sampling, R"({"tools":[]})", R"({"sampling":{}})"), "sampling.tools");
  EXPECT_EQ(missing_capability(Ask::sampling, R"({"tools":null})", R"({"sampling":{}})"), "");
  EXPECT_EQ(missing_capability(Ask::sampling, R"({"toolChoice":{}})", R"({"sampling":{"tools":{}}})"), "");
}

TEST(Ask, elicitation_includes_forms_unless_only_urls_are_announced) {
  const std::string_view form = R"({"mode":"form"})";
  EXPECT_EQ(missing_capability(Ask::elicitation, form, "{}"), "elicitation");
  EXPECT_EQ(missing_capability(Ask::elicitation, "{}", R"({"elicitation":{}})"), "");
  EXPECT_EQ(missing_capability(Ask::elicitation, form, R"({"elicitation":{"url":{}}})"), "elicitation.form");
  EXPECT_EQ(missing_capability(Ask::elicitation, R"({"mode":"url"})", R"({"elicitation":{"form":{}}})"),
            "elicitation.url");
  EXPECT_EQ(missing_capability(Ask::elicitation, R"({"mode":"x"})", R"({"elicitation":{}})"),
            R"(elicitation."x")");
}

TEST(Ask, only_tool_calls_prompts_and_resources_may_require_input) {
  EXPECT_TRUE(may_require_input(Method::tools_call));
  EXPECT_TRUE(may_require_input(Method::prompts_get));
  EXPECT_TRUE(may_require_input(Method::resources_read));
  EXPECT_FALSE(may_require_input(Method::tools_list));
}

}  // namespace
}  // namespace mcpivot
