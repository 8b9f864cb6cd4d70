#include "config/env_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(EnvFile, has_one_variable_per_line) {
  EXPECT_THAT(*parse_env_file("\xEF\xBB\xBF"
                              "# mine\n\nA=1\r\n export B = two words # not this\nC='a # "
                              "b'\nD=\"x\\n\\\"y\\\" \\z\"\nE=\nF=a=b\n G=${A}"),
              ElementsAre(Pair("A", "1"), Pair("B", "two words"), Pair("C", "a # b"),
                          Pair("D", "x\n\"y\" \\z"), Pair("E", ""), Pair("F", "a=b"), Pair("G", "${A}")));
  EXPECT_THAT(*parse_env_file(""), IsEmpty());
  EXPECT_THAT(*parse_env_file("\n \n#A=1"), IsEmpty());
}

TEST(EnvFile, an_error_names_the_line_but_not_its_content) {
  EXPECT_EQ(parse_env_file("A=1\nsesame\n").error(), "line 2 isn't NAME=VALUE");
  EXPECT_EQ(parse_env_file("=sesame").error(), "line 1 isn't NAME=VALUE");
}

}  // namespace
}  // namespace mcpivot
