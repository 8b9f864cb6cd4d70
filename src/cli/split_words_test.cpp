#include "cli/split_words.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using Words = std::vector<std::string>;

TEST(SplitWords, at_white_space) {
  EXPECT_EQ(split_words(" python3  tools.py\t-v\n"), (Words{"python3", "tools.py", "-v"}));
  EXPECT_EQ(split_words(""), Words{});
  EXPECT_EQ(split_words(" \t"), Words{});
}

TEST(SplitWords, quotes_keep_words_together) {
  EXPECT_EQ(split_words(R"('my tools/run it' "a b"c'd e' "" '')"),
            (Words{"my tools/run it", "a bcd e", "", ""}));
  EXPECT_EQ(split_words(R"(a\ b \"c\" "say \"hi\" \n \\" '\n"')"),
            (Words{"a b", "\"c\"", R"(say "hi" \n \)", R"(\n")"}));
}

TEST(SplitWords, no_other_shell_syntax_is_interpreted) {
  EXPECT_EQ(split_words("a $HOME `b` | c; d && *.py > e #f"),
            (Words{"a", "$HOME", "`b`", "|", "c;", "d", "&&", "*.py", ">", "e", "#f"}));
}

TEST(SplitWords, reports_an_unclosed_quote) {
  EXPECT_EQ(split_words("a 'b").error(), "a ' is not closed");
  EXPECT_EQ(split_words("a \"b'").error(), "a \" is not closed");
  EXPECT_EQ(split_words("a \\").error(), "it ends with a backslash");
}

}  // namespace
}  // namespace mcpivot
