#include "gateway/control_arguments.h"

#include <gmock/gmock.h>

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view properties =
    R"("server":{"type":"string"},"lines":{"type":"integer"},"stop":{"type":"boolean"},"arguments":{"type":"object"})";

TEST(ControlArguments, that_are_right_pass) {
  for (const char* arguments :
       {"", "{}", R"({"server":"a","lines":3,"stop":true,"arguments":{}})", R"({"lines":2.0})",
        R"({"server":null,"lines":null})", R"({"arguments":"{\"a\":1}"})"})
    EXPECT_EQ(wrong_argument(properties, arguments), "") << arguments;
}

TEST(ControlArguments, that_are_wrong_are_named_with_the_given_value) {
  EXPECT_THAT(wrong_argument(properties, R"({"server":7})"), AllOf(HasSubstr("server"), HasSubstr("7")));
  EXPECT_THAT(wrong_argument(properties, R"({"lines":2.5})"), AllOf(HasSubstr("lines"), HasSubstr("2.5")));
  EXPECT_THAT(wrong_argument(properties, R"({"stop":"yes"})"), AllOf(HasSubstr("stop"), HasSubstr("yes")));
  EXPECT_THAT(wrong_argument(properties, R"({"arguments":"[1]"})"), HasSubstr("arguments"));
}

TEST(ControlArguments, are_parsed_as_models_write_them) {
  EXPECT_EQ(text_argument(R"({"a":"\u0041"})", "a"), "A");
  EXPECT_EQ(text_argument(R"({"a":null})", "a"), "");
  EXPECT_EQ(number_argument(R"({"n":2e1})", "n", 5), 20);
  EXPECT_EQ(number_argument("{}", "n", 5), 5);
  EXPECT_EQ(number_argument(R"({"n":1e30})", "n", 5), std::numeric_limits<int>::max());
  EXPECT_EQ(object_argument(R"({"o":{"a":1}})", "o"), R"({"a":1})");
  EXPECT_EQ(object_argument(R"({"o":"{\"a\":1}"})", "o"), R"({"a":1})") << "an object in a string";
  EXPECT_EQ(object_argument(R"({"o":[1]})", "o"), "");
}

}  // namespace
}  // namespace mcpivot
