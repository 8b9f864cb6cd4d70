// Checks the arguments of a call against a tool's JSON Schema before anything runs, and says what is wrong in
// words that a model can act on: which parameter, what was expected, what came.
//
// The validator knows draft 7. What later drafts added is translated where it can be and passed otherwise;
// notes() says what. Patterns are matched here, by an engine that gives up instead of running for ever or
// eating the stack.
//
// The schema library stays behind the .cpp. Any thread, one at a time.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clitools/arguments.h"

namespace mcpivot {

class ArgumentCheck {
 public:
  // The error says why this is no schema that can be used. `closed`: an argument that the schema does not
  // name would be lost, so it is a problem, unless the schema itself speaks of further properties.
  static std::expected<std::shared_ptr<const ArgumentCheck>, std::string> compile(std::string_view schema,
                                                                                  bool closed);
  ~ArgumentCheck();
  ArgumentCheck(const ArgumentCheck&) = delete;
  ArgumentCheck& operator=(const ArgumentCheck&) = delete;

  // What is wrong with them, a sentence each; empty: nothing.
  std::vector<std::string> problems(const Arguments& arguments) const;
  // What in the schema is not checked.
  const std::vector<std::string>& notes() const;

 private:
  struct Impl;
  explicit ArgumentCheck(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mcpivot
