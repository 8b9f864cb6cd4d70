// Makes the result of a tool call from what a program printed and how it ended.
//
//   a JSON object              its text, and the object as structuredContent, if it fits the outputSchema
//   with MCP "content" in it   that content (and its structuredContent, isError, _meta)
//   {"file", "mimeType"}       that file: an image, audio, or a resource with its text or bytes; also as an
//                              element of "content"
//   anything else              the text
//   an exit code, a signal     isError, with how it ended, its stdout and the end of its stderr
//
// Any thread; reads the files that are named.
#pragma once

#include <string>

#include "clitools/cli_run.h"
#include "clitools/tool_schema.h"

namespace mcpivot {

struct FinishedCall {
  const ToolSpec& tool;
  const CliRun::Result& run;
  const CapturedOutput& output;
  std::string cwd;               // where relative paths start; empty: our own folder
  std::size_t largest_file = 0;  // in bytes
};

struct CliResult {
  std::string json;  // the result of tools/call
  bool failed = false;
};

CliResult cli_result(const FinishedCall& call);

}  // namespace mcpivot
