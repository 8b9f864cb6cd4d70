// `mcpivot check` as people use it: what it says about a file, and its exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Check : public testing::Test {
 protected:
  void write(const fs::path& name, std::string_view text) const {
    const fs::path file = directory_.path() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  fs::path program(const fs::path& name) const {
    write(name, "#!/bin/sh\n");
    fs::permissions(directory_.path() / name, fs::perms::owner_all);
    return directory_.path() / name;
  }
  Outcome check(Strings arguments, const Environment& added = {}) const {
    arguments.insert(arguments.begin(), "check");
    return run_mcpivot(arguments, folder(), added);
  }
  const fs::path& folder() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Check, describes_what_a_file_means) {
  program("bin/dev");
  program("tools.sh");
  write("servers.json", R"({
    // three kinds
    "mcpServers": {
      "dev": { "command": "bin/dev", "args": ["--token", "${SECRET}", "a b"], "env": {"KEY": "${SECRET}"}, "build": "make all",
               "watch": ["src/**/*.c"], "swap": "stop-first", "replay": ["connect"], "active": true,
               "timeouts": {"call": "5m"} },
      "app": { "url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer ${SECRET}"} },
      "cli": { "cli": ["./tools.sh"], "start": "lazy" },
    },
  })");
  const Outcome result = check({"servers.json"}, {{"SECRET", "sesame"}});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, AllOf(HasSubstr("servers.json: 3 servers\n"), HasSubstr("dev  stdio, active\n"),
                                HasSubstr("bin/dev --token ${SECRET} 'a b'\n"),
                                HasSubstr((folder() / "bin/dev").native() + "\n"), HasSubstr("KEY\n"),
                                HasSubstr("make all\n"), HasSubstr("src/**/*.c\n"), HasSubstr("connect\n")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("call 5m\n"), HasSubstr("app  HTTP daemon, inactive\n"),
                                HasSubstr("http://127.0.0.1:1/mcp\n"), HasSubstr("Authorization\n"),
                                HasSubstr("cli  CLI tools, inactive, starts when first used\n"),
                                HasSubstr("\nno problems\n")));
  EXPECT_THAT(result.out, Not(HasSubstr("sesame"))) << "what a variable holds may be a secret";
  EXPECT_THAT(result.out, Not(HasSubstr("\033"))) << "colours are for terminals";
}

TEST_F(Check, reports_each_problem_with_its_position) {
  write(
      "bad.json",
      "{\"mcpServers\": {\n  \"a\": {\"command\": \"sh\", \"wacth\": []},\n  \"b\": {\"command\": 5}\n}}\n");
  const Outcome result = check({"bad.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.out,
      AllOf(
          HasSubstr("bad.json:2:26: warning: unknown key \"wacth\" in server \"a\" is ignored; did you mean "
                    "\"watch\"?\n"),
          HasSubstr("bad.json:3:20: error: \"command\" of server \"b\" must be a string"),
          HasSubstr("b  skipped: it has errors, see below"), HasSubstr("1 error, 1 warning\n")));
  write("broken.json", "{\n  \"a\": {\n");
  EXPECT_EQ(check({"broken.json"}).exit_code, 1);
  EXPECT_THAT(check({"broken.json"}).out,
              HasSubstr("broken.json:3:1: error: the '{' of line 2, column 8 is not closed"));
}

TEST_F(Check, what_this_machine_lacks_is_a_warning) {
  write("f.json",
        R"({"a": {"command": "no-such-program", "cwd": "no/such/folder"}, "b": {"command": "./gone"},
                      "c": {"command": "./unbuilt", "build": "make"}})");
  const Outcome result = check({"f.json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("f.json:1:19: warning: server \"a\": there is no program \"no-such-program\" in PATH"),
            HasSubstr("there is no folder " + (folder() / "no/such/folder").native()),
            HasSubstr("there is no program at " + (folder() / "gone").native()),
            HasSubstr("unbuilt, not built yet"), HasSubstr("3 warnings\n")));
}

TEST_F(Check, finds_the_file_that_would_be_used) {
  const Outcome nothing = check({});
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.err,
              AllOf(HasSubstr("./mcpivot.json"), HasSubstr("mcpivot/mcpivot.json"), HasSubstr("--config")));

  write("xdg/mcpivot/mcpivot.json", R"({"users": {"command": "sh"}})");
  const Environment xdg{{"XDG_CONFIG_HOME", folder() / "xdg"}};
  EXPECT_THAT(check({}, xdg).out, HasSubstr("users  stdio, active"));
  write("mcpivot.json", R"({"projects": {"command": "sh"}})");
  EXPECT_THAT(check({}, xdg).out, HasSubstr("projects  stdio, active"));
}

TEST_F(Check, a_missing_file_is_an_error) {
  const Outcome result = check({"none.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              HasSubstr("none.json: error: the configuration cannot be read: No such file or directory"));
}

TEST_F(Check, a_file_and_a_cli_cannot_be_checked_together) {
  write("f.json", "{}");
  const Outcome both = check({"f.json", "--tools-from", "x"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("give either a file or a CLI, not both"));
}

// On a terminal, important words are coloured, unless NO_COLOR is set.
TEST_F(Check, uses_colours_only_on_terminals) {
  write("f.json", R"({"a": {"command": 1}})");
  const std::string line = mcpivot_binary() + " check f.json";
  auto at_terminal = [&](const Environment& added) {
    Environment environment = private_folders(folder());
    environment.emplace_back("TERM", "xterm");
    environment.insert(environment.end(), added.begin(), added.end());
    return run_to_end({"script", "-qec", line, "/dev/null"}, environment, folder()).out;
  };
  EXPECT_THAT(at_terminal({}), HasSubstr("\033[1;31merror:\033[0m"));
  EXPECT_THAT(at_terminal({{"NO_COLOR", "1"}}), AllOf(HasSubstr(": error: "), Not(HasSubstr("\033"))));
}

}  // namespace
}  // namespace harness
