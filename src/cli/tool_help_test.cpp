#include "cli/tool_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

json::object tool(const char* text) {
  return json::parse(text).as_object();
}

TEST(ToolHelp, lists_each_argument_with_its_type_and_purpose) {
  const std::string help = tool_help(tool(R"({"name": "files__read", "server": "files", "active": false,
    "title": "Read", "description": "Reads a file.\nAll of it.",
    "inputSchema": {"type": "object", "required": ["path", "mode"], "properties": {
      "path": {"type": "string", "description": "Which file"},
      "limit": {"type": "integer", "minimum": 1, "default": 10},
      "tags": {"type": "array", "items": {"type": "string"}},
      "mode": {"$ref": "#/$defs/Mode"},
      "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
      "where": {"type": "object", "required": ["line"], "properties": {"line": {"type": "number"}}}},
      "$defs": {"Mode": {"enum": ["fast", "slow"], "description": "How"}}},
    "annotations": {"readOnlyHint": true, "destructiveHint": false}})"),
                                     std::nullopt);
  EXPECT_EQ(help,
            "files__read (inactive), a tool of files\n"
            "Read\n"
            "\n"
            "Reads a file.\n"
            "All of it.\n"
            "\n"
            "Arguments:\n"
            "  path    string, required\n"
            "          Which file\n"
            "  limit   integer, at least 1, default 10\n"
            "  tags    array of strings\n"
            "  mode    \"fast\" or \"slow\", required\n"
            "          How\n"
            "  maybe   string or null\n"
            "  where   object\n"
            "    line  number, required\n"
            "\n"
            "The server says: reads only.\n"
            "\n"
            "To call it: mcpivot call files__read path=TEXT mode=TEXT\n");
}

TEST(ToolHelp, leaves_out_limits_that_every_integer_of_a_sdk_has) {
  const std::string help = tool_help(tool(R"({"name": "count", "server": "x", "active": true,
    "inputSchema": {"type": "object", "properties": {
      "n": {"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
      "part": {"type": "integer", "minimum": 1, "maximum": 9007199254740991}}}})"),
                                     std::nullopt);
  EXPECT_THAT(help, HasSubstr("  n     integer\n"));
  EXPECT_THAT(help, HasSubstr("  part  integer, at least 1\n"));
}

TEST(ToolHelp, says_that_there_are_no_arguments) {
  const std::string help = tool_help(
      tool(R"({"name": "pid", "server": "x", "active": true, "inputSchema": {"type": "object"}})"), 80);
  EXPECT_THAT(help, HasSubstr("It takes no arguments."));
  EXPECT_THAT(help, Not(HasSubstr("inactive")));
}

TEST(ToolHelp, fits_the_terminal) {
  const std::string help =
      tool_help(tool(R"({"name": "x", "server": "x", "active": true, "inputSchema": {"properties": {"a": {
        "type": "string", "description": "one two three four five six seven eight nine ten eleven twelve"}}}})"),
                40);
  EXPECT_THAT(help, HasSubstr("     one two three four five six seven\n     eight nine"));
}

TEST(ToolHelp, survives_odd_and_self_referential_schemas) {
  for (const char* schema :
       {R"({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}})", "[]", "true",
        R"({"properties": {"a": {"$ref": "#"}, "b": 7, "c": {"items": {"$ref": "#/properties/c"}}}})",
        R"({"properties": [], "required": {}})"}) {
    json::object odd = tool(R"({"name": "x", "server": "x", "active": true, "annotations": 3, "title": {}})");
    odd["inputSchema"] = json::parse(schema);
    EXPECT_THAT(tool_help(odd, 80), HasSubstr("mcpivot call x")) << schema;
  }
}

TEST(ToolLine, is_one_line) {
  EXPECT_EQ(tool_line(tool(R"({"name": "a", "active": false, "description": "One.\nTwo."})")),
            "a (inactive)  One.\n");
}

}  // namespace
}  // namespace mcpivot
