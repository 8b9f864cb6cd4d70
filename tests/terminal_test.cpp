// What people at a terminal see: lines that fit, colours if supported, and a terminal that is restored
// when a command ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>

#include "lives.h"
#include "terminal.h"

namespace harness {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const char* const several = R"({"mcpServers": {
  "a-server-with-quite-a-long-name-indeed": {"command": "${FAKE}", "active": true},
  "short": {"command": "${FAKE}", "args": ["--only", "echo"], "build": "echo compiling"},
  "broken": {"command": "/no/such/program/in/a/folder/with/a/very/long/name/so/that/the/line/is/long"}}})";

// A client whose servers have all started, or failed.
class TerminalOutput : public testing::Test {
 protected:
  TerminalOutput() : client_({.config = several}) {
    client_.initialize();
    EXPECT_TRUE(wait_until(
        [&] {
          const std::string all = at_terminal({"status"}, 200);
          return all.find("starting") == std::string::npos && all.find("failed") != std::string::npos;
        },
        soon()));
  }

  TerminalOptions options(int columns, const Environment& more) {
    TerminalOptions result{.columns = static_cast<unsigned short>(columns),
                           .environment = private_folders(client_.directory()),
                           .directory = client_.directory()};
    result.environment.emplace_back("LC_ALL", "C.UTF-8");
    result.environment.insert(result.environment.end(), more.begin(), more.end());
    return result;
  }
  static Strings command(Strings arguments) {
    arguments.insert(arguments.begin(), mcpivot_binary());
    return arguments;
  }
  std::string at_terminal(Strings arguments, int columns, const Environment& more = {}) {
    Terminal terminal(command(std::move(arguments)), options(columns, more));
    EXPECT_TRUE(terminal.wait_exit());
    return terminal.shown();
  }

  Client client_;
};

TEST_F(TerminalOutput, the_table_fits_the_terminal) {
  for (const int columns : {20, 40, 60, 80, 100, 200}) {
    const std::string table = plain(at_terminal({"status"}, columns));
    EXPECT_LE(widest(table), static_cast<std::size_t>(columns)) << table;
    EXPECT_THAT(table,
                AllOf(HasSubstr("SERVER"), HasSubstr("STATE"), HasSubstr("ready"), HasSubstr("failed")))
        << columns;
    EXPECT_THAT(text_lines(table), Contains(testing::StartsWith("  a-s")));
  }
  const std::string wide = plain(at_terminal({"status"}, 200));
  EXPECT_THAT(wide, AllOf(HasSubstr("a-server-with-quite-a-long-name-indeed"), HasSubstr("CRASHES"),
                          HasSubstr("PID"), Not(HasSubstr("…"))));
  EXPECT_THAT(plain(at_terminal({"status"}, 40)),
              AllOf(HasSubstr("…"), HasSubstr("short"), Not(HasSubstr("CRASHES"))));
}

TEST_F(TerminalOutput, characters_beyond_ascii_are_only_used_if_the_locale_has_them) {
  const std::string table = at_terminal({"status"}, 40, {{"LC_ALL", "C"}});
  EXPECT_TRUE(std::ranges::none_of(table, [](char c) { return static_cast<unsigned char>(c) > 0x7F; }))
      << table;
  EXPECT_THAT(table, HasSubstr("~"));
  EXPECT_THAT(at_terminal({"status"}, 40, {{"LC_ALL", ""}, {"LANG", "de_DE.utf8"}}), HasSubstr("…"));
}

TEST_F(TerminalOutput, colours_are_only_used_on_terminals_that_support_them) {
  const std::string green = "\033[32mready";
  EXPECT_THAT(at_terminal({"status"}, 80), HasSubstr(green));
  EXPECT_THAT(at_terminal({"status"}, 80, {{"NO_COLOR", ""}}), HasSubstr(green))
      << "an empty NO_COLOR says nothing";
  for (const Environment& without : {Environment{{"NO_COLOR", "1"}}, Environment{{"TERM", "dumb"}}})
    for (const Strings& arguments :
         {Strings{"status"}, Strings{"tools"}, Strings{"doctor"}, Strings{"check"}})
      EXPECT_THAT(at_terminal(arguments, 80, without), Not(HasSubstr("\033"))) << arguments[0];
  EXPECT_THAT(at_terminal({"tools", "short"}, 80), HasSubstr("\033[1mshort__echo\033[0m (inactive)"));
}

TEST_F(TerminalOutput, progress_is_coloured_only_if_stderr_is_a_terminal) {
  const std::string file = client_.directory() / "progress.txt";
  const std::string line = "'" + mcpivot_binary() + "' reload short --build 2> " + file;
  Terminal terminal({"/bin/sh", "-c", line}, options(80, {}));
  ASSERT_TRUE(terminal.wait_exit());
  EXPECT_THAT(content_of(file), AllOf(HasSubstr("compiling"), Not(HasSubstr("\033"))));
  EXPECT_THAT(at_terminal({"reload", "short", "--build"}, 80), HasSubstr("\033[2mcompiling"));
}

TEST_F(TerminalOutput, a_watch_redraws_and_restores_the_terminal) {
  for (const Environment& more : {Environment{}, Environment{{"NO_COLOR", "1"}}}) {
    Terminal terminal(command({"status", "--watch"}), options(80, more));
    const termios before = terminal.mode();
    ASSERT_TRUE(terminal.wait_shown("\033[H\033[2J", 2)) << terminal.shown();
    EXPECT_THAT(terminal.shown(), testing::StartsWith("\033[?25l")) << "the cursor is in the way";
    terminal.press("\003");
    const auto status = terminal.wait_exit();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << *status;
    EXPECT_THAT(terminal.shown(), EndsWith("\033[?25h")) << "the cursor stays hidden";
    EXPECT_EQ(terminal.mode().c_lflag, before.c_lflag);
    EXPECT_EQ(terminal.mode().c_oflag, before.c_oflag);
  }
}

TEST_F(TerminalOutput, a_watch_on_a_simple_terminal_appends_without_redrawing) {
  Terminal terminal(command({"status", "--watch"}), options(80, {{"TERM", "dumb"}}));
  ASSERT_TRUE(terminal.wait_shown("SERVER", 2));
  EXPECT_THAT(terminal.shown(), Not(HasSubstr("\033")));
  terminal.press("\003");
  EXPECT_TRUE(terminal.wait_exit());
}

TEST_F(TerminalOutput, a_watch_continues_when_mcpivot_ends) {
  Terminal terminal(command({"status", "--watch"}), options(80, {}));
  ASSERT_TRUE(terminal.wait_shown("ready"));
  client_.child().signal(SIGKILL);
  EXPECT_TRUE(terminal.wait_shown("no mcpivot is running")) << terminal.shown();
  terminal.press("\003");
  const auto status = terminal.wait_exit();
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, 0);
  EXPECT_THAT(terminal.shown(), EndsWith("\033[?25h"));
}

TEST_F(TerminalOutput, following_the_logs_ends_on_ctrl_c_or_when_the_reader_closes) {
  Terminal terminal(command({"logs", "-f"}), options(80, {}));
  client_.call("a-server-with-quite-a-long-name-indeed__stderr", {{"text", "one"}, {"lines", 1}});
  ASSERT_TRUE(terminal.wait_shown("one"));
  terminal.press("\003");
  ASSERT_TRUE(terminal.wait_exit());

  Terminal piped({"/bin/sh", "-c", "'" + mcpivot_binary() + "' logs -f | head -n 1"}, options(80, {}));
  ASSERT_TRUE(piped.wait_shown("one"));
  EXPECT_TRUE(wait_until(
      [&] {
        client_.call("a-server-with-quite-a-long-name-indeed__stderr", {{"text", "two"}, {"lines", 1}});
        return piped.wait_exit(in(std::chrono::milliseconds(100))).has_value();
      },
      soon()));
  EXPECT_THAT(piped.shown(), Not(HasSubstr("terminate")));
}

TEST_F(TerminalOutput, help_fits_and_has_no_colours) {
  for (const Strings& arguments :
       {Strings{"--help"}, Strings{"status", "--help"}, Strings{"install", "--help"}}) {
    const std::string help = at_terminal(arguments, 80);
    EXPECT_THAT(help, AllOf(HasSubstr("mcpivot"), Not(HasSubstr("\033"))));
    EXPECT_LE(widest(help), 120);
  }
}

TEST_F(TerminalOutput, doctor_marks_what_it_found) {
  const std::string said = at_terminal({"doctor"}, 80, {{"FAKE", fake_server_binary()}});
  EXPECT_THAT(said, AllOf(HasSubstr("\033[32mok  \033[0m"), HasSubstr("\033[31mBAD \033[0m  broken: ")));
  EXPECT_THAT(plain(said),
              AllOf(HasSubstr("ok    short: ready in"), HasSubstr("BAD   broken: cannot start")));
}

}  // namespace
}  // namespace harness
