#include "install/toml_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "install/json_edit.h"

namespace mcpivot {
namespace {

using testing::HasSubstr;

// A file as people write it: comments, odd spacing, texts that look like tables.
constexpr std::string_view example = R"toml(# mine
model = "o3"   # the [mcp_servers.fake] one
notice = """
[mcp_servers.fake]
"""

[ mcp_servers . docs ]
command = 'npx'
args = [ "-y", # yes
  "docs]",
]
env = { "A B" = "1", C.D = 2 }

[projects."/home/me"]
trust_level = "trusted"
when = 2024-01-01 10:00:00

[mcp_servers.docs.tools.search]   # a table of its own
approval_mode = "auto"
# the end
[mcp_servers."a.b"]
url = "https://example.com/\u00e9"
)toml";

std::vector<TomlServer> servers_of(std::string_view text) {
  auto servers = toml_servers(text, "mcp_servers");
  EXPECT_TRUE(servers) << servers.error();
  return servers.value_or(std::vector<TomlServer>());
}
std::string error_of(std::string_view text) {
  auto servers = toml_servers(text, "mcp_servers");
  return servers ? "none" : servers.error();
}

TEST(TomlEdit, finds_servers_and_their_values) {
  const auto servers = servers_of(example);
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_EQ(servers[0].name, "docs");
  EXPECT_EQ(json_text(servers[0].value),
            R"({"command": "npx", "args": ["-y", "docs]"], "env": {"A B": "1", "C": {"D": 2}}, )"
            R"("tools": {"search": {"approval_mode": "auto"}}})");
  EXPECT_EQ(servers[0].line, 7U);
  EXPECT_EQ(servers[1].name, "a.b");
  EXPECT_EQ(json_text(servers[1].value), "{\"url\": \"https://example.com/é\"}");
  EXPECT_EQ(servers[1].text, "[mcp_servers.\"a.b\"]\nurl = \"https://example.com/\\u00e9\"");
}

TEST(TomlEdit, removes_all_tables_of_a_server_and_nothing_else) {
  const auto without = remove_toml_server(example, "mcp_servers", "docs");
  ASSERT_TRUE(without) << without.error();
  EXPECT_EQ(*without, R"toml(# mine
model = "o3"   # the [mcp_servers.fake] one
notice = """
[mcp_servers.fake]
"""

[projects."/home/me"]
trust_level = "trusted"
when = 2024-01-01 10:00:00
# the end
[mcp_servers."a.b"]
url = "https://example.com/\u00e9"
)toml");
}

TEST(TomlEdit, reads_every_kind_of_string) {
  const auto tables =
      parse_toml("a = \"\\u00e9\\t\\\"\"\nb = '''\nx'\\n''''\nc = \"\"\"\n one \\\n\n  two\"\"\"\"\n");
  ASSERT_TRUE(tables) << tables.error().words;
  const auto& entries = tables->front().entries;
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].value.text, "é\t\"");
  EXPECT_EQ(entries[1].value.text, "x'\\n'");
  EXPECT_EQ(entries[2].value.text, " one two\"");
}

TEST(TomlEdit, refuses_an_edit_that_would_damage_the_file) {
  EXPECT_THAT(error_of("mcp_servers.a.command = 'x'\n"), HasSubstr("before the first table"));
  EXPECT_THAT(error_of("mcp_servers = {a = {command = 'x'}}"), HasSubstr("before the first table"));
  EXPECT_EQ(error_of("\n[[mcp_servers]]\n"), "line 2: [[mcp_servers]] is a list, not a table");
  EXPECT_EQ(error_of("[mcp_servers.a]\n[mcp_servers.a]\n"), "line 2: [mcp_servers.a] appears twice");
  EXPECT_EQ(error_of("[a]\nb = \"x\n"), "line 2, column 5: this string is not closed");
  EXPECT_EQ(error_of("[a]\nb = [1,\n"), "line 2, column 5: this '[' is not closed");
  EXPECT_EQ(error_of("a = yes\n"), "line 1, column 5: expected a value, found 'yes'");
  EXPECT_EQ(error_of("a = 1 b = 2\n"), "line 1, column 7: expected the end of the line, found 'b'");
  EXPECT_EQ(error_of("a\n"), "line 1, column 2: expected '=' after the key");
  EXPECT_EQ(error_of("[a\n"), "line 1, column 3: expected ']' after the table's name");
  EXPECT_EQ(error_of("a = \"\xff\"\n"), "line 1, column 1: the file is not UTF-8");
  EXPECT_EQ(error_of("a = " + std::string(200, '[') + "\n"), "line 1, column 105: nested too deeply");

  const std::string below = "[mcp_servers]\na = {command = 'x'}\nb.command = 'y'\n";
  const auto servers = servers_of(below);
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_THAT(servers[0].fixed, HasSubstr("below [mcp_servers]"));
  EXPECT_THAT(remove_toml_server(below, "mcp_servers", "a").error(), HasSubstr("line 1"));
}

TEST(TomlEdit, names_are_quoted_if_necessary) {
  EXPECT_EQ(toml_key("a-b_1"), "a-b_1");
  EXPECT_EQ(toml_key("a.b"), "\"a.b\"");
  EXPECT_EQ(toml_string("a\"\\\n"), R"("a\"\\\u000a")");
}

rc::Gen<std::string> line() {
  return rc::gen::element<std::string>(
      "", " ", "# [mcp_servers.new]", "a = 1", "b.c = 'x' # y", "d = \"\"\"\n[mcp_servers.new]\n\"\"\"",
      "e = [\n 1,\n\n 2 ]", "[t]", "[[l]]", "[mcp_servers.old]", "[mcp_servers.old.env]", "  [ u . v ] ",
      "f = { a = 1, b = [ {} ] }", "g = 2024-01-01 10:00:00Z", "[mcp_servers]");
}

RC_GTEST_PROP(TomlEditProperty, inserting_and_removing_a_server_restores_the_bytes, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(line());
  const auto newline = *rc::gen::element<std::string>("\n", "\r\n");
  std::string text;
  for (const std::string& one : lines) text += one + newline;
  if (*rc::gen::arbitrary<bool>() && !lines.empty()) text.resize(text.size() - newline.size());
  if (!toml_servers(text, "mcp_servers")) RC_DISCARD("a table appears twice");
  const std::string with = append_toml(text, "[mcp_servers.new]" + newline + "command = \"x\"" + newline +
                                                 "[mcp_servers.new.env]" + newline + "A = '1'");
  const auto servers = toml_servers(with, "mcp_servers");
  RC_ASSERT(servers.has_value());
  RC_ASSERT(servers->back().name == "new");
  RC_ASSERT(json_text(servers->back().value) == R"({"command": "x", "env": {"A": "1"}})");
  const auto without = remove_toml_server(with, "mcp_servers", "new");
  RC_ASSERT(without.has_value());
  RC_ASSERT(*without == text);
}

RC_GTEST_PROP(TomlEditProperty, survives_any_bytes, (const std::string& text)) {
  const auto tables = parse_toml(text);
  if (!tables) RC_ASSERT(tables.error().place.begin <= text.size());
}

}  // namespace
}  // namespace mcpivot
