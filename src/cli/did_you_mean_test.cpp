#include "cli/did_you_mean.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_help.h"

namespace mcpivot {
namespace {

using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class DidYouMean : public testing::Test {
 protected:
  DidYouMean() {
    app_.add_option("--build", text_)->option_text("COMMAND");
    app_.add_option("--cwd", text_)->option_text("FOLDER");
    CLI::App* const status = add_command(app_, "status", "", "");
    status->add_flag("--json", flag_);
    status->add_option("SERVER", text_);
    status->add_flag("-f", flag_);
    add_command(app_, "stop", "", "");
    add_command(app_, "serve", "--listen ADDRESS [-- COMMAND...]", "")
        ->add_option("--listen", text_)
        ->option_text("ADDRESS");
  }
  std::string hint(const Words& words, bool dashes = false) {
    return misplaced_word(app_, words, dashes, [](const std::string& word) { return word == "node"; });
  }

  CLI::App app_{"", "mcpivot"};
  std::string text_;
  bool flag_ = false;
};

TEST_F(DidYouMean, suggests_the_option_that_was_meant) {
  EXPECT_EQ(hint({"--biuld", "make"}, true), "mcpivot has no option --biuld. Did you mean --build?");
  EXPECT_EQ(hint({"--biuld=make"}, true), "mcpivot has no option --biuld. Did you mean --build?");
  EXPECT_EQ(hint({"status", "--jsn"}), "mcpivot status has no option --jsn. Did you mean --json?");
  EXPECT_EQ(hint({"status", "--quite-another"}), "mcpivot status has no option --quite-another.");
  EXPECT_EQ(hint({"status", "-x"}), "mcpivot status has no option -x.");
  EXPECT_EQ(hint({"-n", "5", "status"}), "mcpivot has no option -n.");
}

TEST_F(DidYouMean, suggests_the_command_that_was_meant) {
  EXPECT_EQ(hint({"staus"}), "mcpivot has no command staus. Did you mean status?");
  EXPECT_EQ(hint({"--cwd", "here", "staus"}), "mcpivot has no command staus. Did you mean status?");
  EXPECT_EQ(hint({"stat"}), "mcpivot has no command stat. Did you mean status?");
  EXPECT_EQ(
      misplaced_word(app_, {"stat"}, false, [](const std::string&) { return true; }),
      "mcpivot has no command stat. Did you mean status? To run a server, put \"--\" before its command: "
      "mcpivot -- stat");
}

TEST_F(DidYouMean, suggests_the_dashes_before_a_servers_command) {
  EXPECT_THAT(hint({"node", "server.js"}),
              HasSubstr("put \"--\" before its command: mcpivot -- node server.js"));
  EXPECT_THAT(hint({"--build", "make all", "node", "server.js", "--port", "3"}),
              HasSubstr("mcpivot --build 'make all' -- node server.js --port 3"));
  EXPECT_THAT(hint({"node"}), Not(HasSubstr("Did you mean")));
  EXPECT_EQ(hint({"serve", "--listen", "127.0.0.1:1", "node", "server.js"}),
            "mcpivot serve: unexpected argument: node. To run a server, put \"--\" before its command: "
            "mcpivot serve --listen 127.0.0.1:1 -- node server.js");
}

TEST_F(DidYouMean, accepts_words_in_their_proper_place) {
  for (const Words& words :
       {Words{}, Words{"status"}, Words{"status", "node", "--json"}, Words{"--cwd", "--biuld"},
        Words{"--build=x"}, Words{"--cwd", "-x"}, Words{"serve", "--listen", "node"}, Words{"status", "-f"},
        Words{"status", "-fn5"}})
    EXPECT_EQ(hint(words), "") << testing::PrintToString(words);
  EXPECT_EQ(hint({"node"}, true), "") << "the dashes are not what is missing";
}

TEST(NamesAProgram, is_true_only_for_a_program_that_exists) {
  EXPECT_TRUE(names_a_program("sh"));
  EXPECT_TRUE(names_a_program("/bin/sh"));
  EXPECT_FALSE(names_a_program("no-such-program-anywhere"));
  EXPECT_FALSE(names_a_program("/"));
}

}  // namespace
}  // namespace mcpivot
