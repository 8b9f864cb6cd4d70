#include "cli/tool_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const json::object& schema() {
  static const json::object made = json::parse(R"({"type": "object", "properties": {
    "text": {"type": "string"}, "count": {"type": "integer"}, "ratio": {"type": "number"},
    "deep": {"type": "boolean"}, "tags": {"type": "array", "items": {"type": "string"}},
    "where": {"type": "object"}, "anything": {},
    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "mode": {"$ref": "#/$defs/Mode"}, "either": {"type": ["string", "integer"]}},
    "$defs": {"Mode": {"enum": ["fast", "slow"]}}})")
                                       .as_object();
  return made;
}

std::string made(const Words& words, const json::object* with = &schema()) {
  const auto arguments = tool_arguments(words, with);
  return arguments ? json::serialize(*arguments) : arguments.error();
}

TEST(ToolArguments, get_the_types_of_the_schema) {
  EXPECT_EQ(made({"text=7", "count=7", "deep=true"}), R"({"text":"7","count":7,"deep":true})");
  EXPECT_EQ(made({"ratio=7"}), R"({"ratio":7})");
  EXPECT_EQ(made({"tags=[\"a\",\"b\"]", "where={\"x\":1}"}), R"({"tags":["a","b"],"where":{"x":1}})");
  EXPECT_EQ(made({"maybe=3"}), R"({"maybe":3})");
  EXPECT_EQ(made({"maybe=null"}), R"({"maybe":null})");
  EXPECT_EQ(made({"mode=fast", "either=3"}), R"({"mode":"fast","either":"3"})");
  EXPECT_EQ(made({"text=a=b", "anything="}), R"({"text":"a=b","anything":""})");
}

TEST(ToolArguments, of_a_wrong_type_are_rejected_with_the_expected_one) {
  EXPECT_EQ(made({"count=three"}), "count: expected integer, got: three");
  EXPECT_EQ(made({"count=1.5"}), "count: expected integer, got: 1.5");
  EXPECT_EQ(made({"deep=yes"}), "deep: expected boolean, got: yes");
  EXPECT_EQ(made({"tags=a"}), "tags: expected array of strings as JSON, such as tags='[…]', got: a");
}

TEST(ToolArguments, unknown_to_the_tool_are_rejected_unless_it_takes_any) {
  EXPECT_EQ(made({"txet=x"}), "the tool has no argument txet. Did you mean text?");
  EXPECT_THAT(made({"quite_another=x"}),
              HasSubstr("the tool has no argument quite_another; it has text, count"));
  json::object open = schema();
  open["additionalProperties"] = true;
  EXPECT_EQ(made({"txet=x"}, &open), R"({"txet":"x"})");
  EXPECT_EQ(made({R"({"txet":"x"})"}), R"({"txet":"x"})") << "JSON is passed as it is";
}

TEST(ToolArguments, can_be_JSON_one_by_one_or_all_together) {
  EXPECT_EQ(made({"text:=[1]"}), R"({"text":[1]})");
  EXPECT_EQ(made({R"({"text":"x"})", "count=1"}), R"({"text":"x","count":1})");
  EXPECT_THAT(made({"text:=x"}), HasSubstr("isn't valid JSON: x"));
  EXPECT_EQ(made({}), "{}");
}

TEST(ToolArguments, can_come_from_a_file) {
  const host::TemporaryDirectory folder;
  folder.write("text", "line 1\nline 2\n");
  folder.write("tags", R"(["a"])");
  EXPECT_EQ(made({"text=@" + (folder / "text"), "tags=@" + (folder / "tags")}),
            R"({"text":"line 1\nline 2\n","tags":["a"]})");
  EXPECT_EQ(made({"text:=@" + (folder / "tags")}), R"({"text":["a"]})");
  EXPECT_THAT(made({"text=@/no/such/file"}),
              AllOf(HasSubstr("text"), HasSubstr("can't read the file /no/such/file")));
}

TEST(ToolArguments, without_a_schema_get_the_type_they_look_like) {
  EXPECT_EQ(made({"a=1", "b=true", "c=[1]", "d=1.10.0", "e=\"x\"", "f=null"}, nullptr),
            R"({"a":1,"b":true,"c":[1],"d":"1.10.0","e":"\"x\"","f":"null"})");
}

TEST(ToolArguments, that_are_malformed_are_rejected) {
  for (const char* word : {"[1]", "{", "7", "text"}) EXPECT_THAT(made({word}), HasSubstr("JSON object"));
  EXPECT_EQ(made({"text=a", "text=b"}), "text is given twice");
  EXPECT_EQ(made({R"({"text":"x"})", "text=b"}), "text is given twice");
  EXPECT_THAT(made({"=x"}), HasSubstr("expected key=value"));
}

}  // namespace
}  // namespace mcpivot
