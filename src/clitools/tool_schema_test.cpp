#include "clitools/tool_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Strings = std::vector<std::string>;

Strings told(std::string_view text, bool mistakes) {
  const auto schema = read_tool_schema(text);
  if (!schema) return {schema.error()};
  Strings all;
  for (const SchemaProblem& problem : schema->problems)
    if (problem.mistake == mistakes) all.push_back(problem.place + ": " + problem.what);
  return all;
}

// The errors in a tool that is listed after a valid one.
Strings mistakes(const std::string& members) {
  return told(R"({"tools":[{"name":"good","cli_command":[]},{)" + members + "}]}", true);
}
Strings notes(const std::string& members) {
  return told(R"({"tools":[{)" + members + "}]}", false);
}

TEST(ToolSchema, is_parsed_with_every_member_a_tool_may_have) {
  const auto schema = read_tool_schema(R"({"tools":[{
      "name": "search", "title": "Search", "description": "Finds \"it\".",
      "parameters": {"type":"object","properties":{"q":{"type":"string"}}},
      "cli_command": ["search", "--", "{q}"], "timeout": 1.5, "cwd": "sub", "env": {"A":"b","N":1},
      "stdin": "{q}", "outputSchema": {"type":"object"}, "_meta": {"x": 1} }]})");
  ASSERT_TRUE(schema) << schema.error();
  EXPECT_THAT(schema->problems, IsEmpty());
  const ToolSpec& tool = schema->tools.at(0);
  EXPECT_EQ(
      tool.listed,
      R"({"name":"search","title":"Search","description":"Finds \"it\".","outputSchema":{"type":"object"},)"
      R"("_meta":{"x":1},"inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}})");
  EXPECT_EQ(tool.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(tool.cwd, "sub");
  EXPECT_THAT(tool.env, ElementsAre(std::pair("A", "b"), std::pair("N", "1")));
  EXPECT_TRUE(tool.structured);
  EXPECT_TRUE(tool.input);
  EXPECT_EQ(schema->find("search"), &tool);
  EXPECT_EQ(schema->find("other"), nullptr);
}

TEST(ToolSchema, output_that_describes_no_tools_is_quoted_in_the_error) {
  EXPECT_THAT(told("", true), ElementsAre("it printed nothing to stdout"));
  EXPECT_THAT(told("usage: cli [-h]", true), ElementsAre(HasSubstr("isn't valid JSON: ")));
  EXPECT_THAT(told("usage: cli [-h]", true), ElementsAre(HasSubstr(R"("usage: cli [-h]")")));
  EXPECT_THAT(told("[]", true), ElementsAre(HasSubstr("got an array")));
  EXPECT_THAT(told("{}", true), ElementsAre(HasSubstr("got an object without")));
  EXPECT_THAT(told("{\"tools\":[]} x", true), ElementsAre(HasSubstr("isn't valid JSON")));
  EXPECT_THAT(told("{\"tools\":[],\"x\":\"\xff\"}", true), ElementsAre(HasSubstr("UTF-8")));
  EXPECT_THAT(
      told(R"({"tools":[{"name":"a"}]})", true),
      ElementsAre(HasSubstr("tools[0] \"a\": cli_command: expected an array of strings, got nothing")));
  EXPECT_THAT(told(R"({"tools":[]})", true), IsEmpty());
}

TEST(ToolSchema, each_error_names_its_position) {
  EXPECT_THAT(mistakes(R"("cli_command":[])"),
              ElementsAre(HasSubstr("tools[1]: name: expected a string, got nothing")));
  EXPECT_THAT(mistakes(R"("name":"a b","cli_command":[])"),
              ElementsAre(HasSubstr("tools[1] \"a b\": name: expected 1 to 128")));
  EXPECT_THAT(mistakes(R"("name":"good","cli_command":[])"),
              ElementsAre(HasSubstr("tools[1] \"good\": name: an earlier tool has the same name")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":["a",1])"),
              ElementsAre(HasSubstr("cli_command[1]: expected a string, got a number")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":["a","{"])"),
              ElementsAre(HasSubstr("cli_command[1]: a \"{\"")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":["{q}"])"),
              ElementsAre(HasSubstr("cli_command: {q} is not among the properties")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"stdin":"{q}")"),
              ElementsAre(HasSubstr("stdin: {q} is not among")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"parameters":[])"),
              ElementsAre(HasSubstr("parameters: expected a JSON Schema")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"parameters":{"type":"array"})"),
              ElementsAre(HasSubstr("parameters: expected \"type\":\"object\"")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"inputSchema":{"properties":{"a":{"type":"wrong"}}})"),
              ElementsAre(HasSubstr("inputSchema: not a usable JSON Schema")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"timeout":"soon")"),
              ElementsAre(HasSubstr("timeout: expected seconds")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"timeout":-1)"), ElementsAre(HasSubstr("timeout: ")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"env":{"A=B":"c"})"),
              ElementsAre(HasSubstr("env: \"A=B\"")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"env":{"A":{}})"),
              ElementsAre(HasSubstr("env: \"A\"")));
  EXPECT_THAT(mistakes(R"("name":"x","cli_command":[],"cwd":1,"stdin":2)"), testing::SizeIs(2));
  EXPECT_THAT(told(R"({"tools":[{"name":"a","cli_command":[]},7]})", true),
              ElementsAre(HasSubstr("tools[1]: expected an object, got a number")));
}

TEST(ToolSchema, free_text_cannot_be_part_of_an_options_name) {
  const auto mistakes_of = [](const std::string& type) {
    return mistakes(R"("name":"x","cli_command":["--{m}"],"parameters":{"properties":{"m":)" + type + "}}");
  };
  EXPECT_THAT(mistakes_of(R"({"type":"string"})"), ElementsAre(HasSubstr("{m} is part of an option's name")));
  EXPECT_THAT(mistakes_of(R"({"enum":["fast","slow"]})"), IsEmpty());
  EXPECT_THAT(mistakes_of(R"({"type":"integer"})"), IsEmpty());
}

TEST(ToolSchema, harmless_oddities_are_notes) {
  EXPECT_THAT(notes(R"("name":"x","cli_command":[],"colour":"red")"),
              ElementsAre(HasSubstr("tools[0] \"x\": colour: unknown key, ignored")));
  EXPECT_THAT(
      notes(R"("name":"x","cli_command":["{a}"],"parameters":{"properties":{"a":{"type":"string"}}})"),
      ElementsAre(HasSubstr("a {a} that begins with \"-\" will be refused")));
  EXPECT_THAT(notes(R"("name":"x","cli_command":["--a","{a}"],"parameters":{"properties":{"a":{},"b":{}}})"),
              ElementsAre(HasSubstr("\"b\" is not used")));
  EXPECT_THAT(notes(R"("name":"x","cli_command":[],"stdin":"json","parameters":{"properties":{"b":{}}})"),
              IsEmpty());
  EXPECT_THAT(notes(R"("name":"x","cli_command":[],"parameters":{"$dynamicRef":"#x"})"),
              Contains(HasSubstr("is not checked")));
  EXPECT_THAT(notes(R"("name":"x","cli_command":[],"outputSchema":{"$ref":"http://elsewhere"})"),
              ElementsAre(HasSubstr("outputSchema: results are not checked because of it: a \"$ref\"")));
}

}  // namespace
}  // namespace mcpivot
