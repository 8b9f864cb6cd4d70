// A CLI's description of its own tools, read from the output of its schema command, with every problem and
// its place. A tool with a mistake is left out; the others are served.
//
// Plain data. Any thread.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clitools/arg_template.h"
#include "clitools/argument_check.h"

namespace mcpivot {

struct ToolSpec {
  std::string name;
  std::string listed;       // as an item of tools/list: one line of JSON, in MCP's own spelling
  bool structured = false;  // has an outputSchema: its result must be a JSON object
  std::shared_ptr<const ArgumentCheck> check;
  std::shared_ptr<const ArgumentCheck> result_check;  // null: there is no outputSchema that can be checked
  ArgTemplate command;
  std::optional<TextTemplate> input;  // for its stdin
  bool input_is_json = false;         // its stdin gets the whole arguments object
  std::optional<std::chrono::milliseconds> timeout;
  std::string cwd;  // empty: the CLI's own
  std::vector<std::pair<std::string, std::string>> env;
};

struct SchemaProblem {
  std::string place;  // tools[2] "search": cli_command[1]
  std::string what;
  bool mistake = true;  // the tool is left out; otherwise it is only a note
};

struct ToolSchema {
  std::vector<ToolSpec> tools;
  std::vector<SchemaProblem> problems;
  const ToolSpec* find(std::string_view name) const;
};

// The error says why the text describes no tools at all.
std::expected<ToolSchema, std::string> read_tool_schema(std::string_view text);

}  // namespace mcpivot
