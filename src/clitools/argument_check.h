// Checks the arguments of a call against a tool's JSON Schema before anything runs, or what it returned
// against its output's schema, and says what is wrong in words that a model can act on: which parameter, what
// was expected, what came.
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

  // What is checked, as the problems call it.
  struct Subject {
    std::string_view whole = "the arguments";
    std::string_view part = "parameter";
    std::string_view misfit = "the arguments do not fit the tool's schema";
    // To JSON Schema 1.0 is an integer; to a program that gets it as an argument it may be none.
    bool whole_is_integer = false;
  };
  static constexpr Subject of_a_result{.whole = "the output",
                                       .part = "property",
                                       .misfit = "the output does not fit the tool's schema",
                                       .whole_is_integer = true};

  // What is wrong with them, a sentence each; empty: nothing.
  std::vector<std::string> problems(const Arguments& arguments, const Subject& subject) const;
  std::vector<std::string> problems(const Arguments& arguments) const;
  // What in the schema is not checked.
  const std::vector<std::string>& notes() const;

 private:
  struct Impl;
  explicit ArgumentCheck(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mcpivot
