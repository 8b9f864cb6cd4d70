// `mcpivot check --tools-from CLI` tells people what would be served; and the docs' examples are what they
// say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_tools.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Outcome check(const std::string& cli) {
  const TemporaryDirectory home;
  return run_mcpivot({"check", "--tools-from", cli}, home.path());
}

TEST(CliCheck, lists_what_would_be_served) {
  const FakeCli cli({cli_tool("search", {"args", "--", "{text}", "{limit}"},
                              {{"text", any_string}, {"limit", {{"type", "integer"}}}},
                              {{"parameters",
                                {{"properties", {{"text", any_string}, {"limit", {{"type", "integer"}}}}},
                                 {"required", {"text"}}}}})});
  const Outcome good = check(cli.command());
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_THAT(good.out,
              AllOf(HasSubstr("1 tool"), HasSubstr("  search  Does search.\n"), HasSubstr("text: string\n"),
                    HasSubstr("limit: integer, optional\n"), Not(HasSubstr("to fix"))));
}

TEST(CliCheck, reports_every_problem_with_its_position_and_fails) {
  const FakeCli cli({cli_tool("good", {"args"}),
                     cli_tool("first", {"args", "{nowhere}"}, {}, {{"timeout", "soon"}}),
                     {{"name", "second"}, {"colour", "red"}, {"cli_command", "args"}}});
  const Outcome bad = check(cli.command());
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("3 to fix:"), HasSubstr("tools[1] \"first\": cli_command: {nowhere}"),
                             HasSubstr("tools[1] \"first\": timeout: "),
                             HasSubstr("tools[2] \"second\": cli_command: "), HasSubstr("1 worth knowing:"),
                             HasSubstr("colour: unknown key, ignored")));
}

TEST(CliCheck, explains_why_there_is_nothing_to_serve) {
  const FakeCli cli;
  cli.describe("no JSON");
  EXPECT_EQ(check(cli.command()).exit_code, 1);
  EXPECT_THAT(check(cli.command()).out, HasSubstr("no JSON"));
  const Outcome missing = check("/no/such/cli");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.out, HasSubstr("No such file"));
}

// ---- The examples of docs/cli-tools.md.

const fs::path examples = fs::path(PROJECT_DIRECTORY) / "examples/cli-tools";

TEST(CliExamples, are_the_same_in_the_docs_and_in_files) {
  const std::string docs = content_of(fs::path(PROJECT_DIRECTORY) / "docs/cli-tools.md");
  for (const char* name : {"tasks.py", "text.mjs", "files.sh"}) {
    const std::string file = content_of(examples / name);
    EXPECT_GT(file.size(), 500U) << name;
    EXPECT_NE(docs.find("\n" + file + "```"), std::string::npos)
        << name << " differs from what the docs show";
  }
}

TEST(CliExamples, in_python_works) {
  Client client({.tools_from = "python3 " + (examples / "tasks.py").string()});
  client.initialize();
  EXPECT_THAT(tools_of(client), AllOf(Contains("add_task"), Contains("list_tasks")));
  const json::object added = client.call(
      "add_task", {{"text", "-x; $(touch hacked) ü\n"}, {"tags", {"home", "--urgent"}}, {"urgent", true}});
  EXPECT_EQ(
      added.at("result").at("structuredContent").at("added"),
      (json::object{{"text", "-x; $(touch hacked) ü\n"}, {"tags", {"home", "--urgent"}}, {"urgent", true}}));
  client.call("add_task", {{"text", "second"}, {"urgent", false}});
  const json::object found = client.call("list_tasks", {{"tag", "home"}});
  EXPECT_EQ(found.at("result").at("structuredContent").at("tasks").as_array().size(), 1U);
  EXPECT_EQ(client.call("list_tasks").at("result").at("structuredContent").at("tasks").as_array().size(), 2U);
  EXPECT_TRUE(is_error(client.call("add_task")));
}

TEST(CliExamples, in_node_works) {
  Client client({.tools_from = "node " + (examples / "text.mjs").string()});
  client.initialize();
  const json::object counted = client.call("count_words", {{"text", "one two\nthree ü"}});
  EXPECT_EQ(counted.at("result").at("structuredContent"),
            (json::object{{"words", 4}, {"lines", 2}, {"characters", 15}}));
  EXPECT_EQ(own(client, "slug", {{"title", "-Hello, Wörld!"}, {"separator", "_"}}), "hello_wörld");
  EXPECT_EQ(own(client, "slug", {{"title", "Hello World"}, {"limit", 5}}), "hello");
  EXPECT_TRUE(is_error(client.call("slug", {{"title", "x"}, {"separator", "+"}})));
}

TEST(CliExamples, in_bash_works) {
  Client client({.options = {"--result-args", ""}, .tools_from = examples / "files.sh"});
  client.initialize();
  std::ofstream(client.directory() / "small") << "12";
  std::ofstream(client.directory() / "large") << "12345";
  EXPECT_THAT(own(client, "largest_files", {{"folder", client.directory().string()}, {"count", 100}}),
              AllOf(HasSubstr("5 large\n2 small")));
  EXPECT_EQ(client.call("show_file", {{"path", "large"}})
                .at("result")
                .at("content")
                .at(0)
                .at("resource")
                .at("text"),
            "12345");
  const json::object missing = client.call("show_file", {{"path", "nowhere"}});
  EXPECT_TRUE(is_error(missing));
  EXPECT_THAT(text_of(missing), AllOf(HasSubstr("exited with code 1"), HasSubstr("no such file: nowhere")));
  EXPECT_TRUE(is_error(client.call("show_file", {{"path", "-"}})));
}

}  // namespace
}  // namespace harness
