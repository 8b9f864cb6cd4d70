#include "bridge/ask.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(Ask, each_question_is_known_by_its_method) {
  for (const Ask ask : {Ask::elicitation, Ask::sampling, Ask::roots}) EXPECT_EQ(ask_of(method_of(ask)), ask);
  EXPECT_EQ(ask_of("tools/list"), std::nullopt);
}

TEST(Ask, what_a_client_lacks_is_named) {
  EXPECT_EQ(missing_capability(Ask::roots, "", "{}"), "roots");
  EXPECT_EQ(missing_capability(Ask::roots, "", R"({"roots":{}})"), "");
  EXPECT_EQ(missing_capability(Ask::roots, "", R"({"roots":null})"), "roots");
  EXPECT_EQ(missing_capability(Ask::sampling, R"({"tools":[]})", R"({"sampling":{}})"), "sampling.tools");
  EXPECT_EQ(missing_capability(Ask::sampling, R"({"tools":null})", R"({"sampling":{}})"), "");
  EXPECT_EQ(missing_capability(Ask::sampling, R"({"toolChoice":{}})", R"({"sampling":{"tools":{}}})"), "");
}

TEST(Ask, forms_are_there_unless_only_urls_are_announced) {
  const std::string_view form = R"({"mode":"form"})";
  EXPECT_EQ(missing_capability(Ask::elicitation, form, "{}"), "elicitation");
  EXPECT_EQ(missing_capability(Ask::elicitation, "{}", R"({"elicitation":{}})"), "");
  EXPECT_EQ(missing_capability(Ask::elicitation, form, R"({"elicitation":{"url":{}}})"), "elicitation.form");
  EXPECT_EQ(missing_capability(Ask::elicitation, R"({"mode":"url"})", R"({"elicitation":{"form":{}}})"),
            "elicitation.url");
  EXPECT_EQ(missing_capability(Ask::elicitation, R"({"mode":"x"})", R"({"elicitation":{}})"),
            R"(elicitation."x")");
}

TEST(Ask, a_call_a_prompt_and_a_resource_may_require_input_and_nothing_else) {
  EXPECT_TRUE(may_require_input(Method::tools_call));
  EXPECT_TRUE(may_require_input(Method::prompts_get));
  EXPECT_TRUE(may_require_input(Method::resources_read));
  EXPECT_FALSE(may_require_input(Method::tools_list));
}

}  // namespace
}  // namespace mcpivot
