// Checks the arguments of a call against a tool's JSON Schema before anything runs, or what it returned
// against its output's schema, and says what is wrong in words that a model can act on: which parameter, what
// was expected, what came.
//
// What makes up a schema, and what isn't checked, is said in schema/schema.h. Any thread.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clitools/arguments.h"

namespace mcpivot {

namespace schema {
class Schema;
}

class ArgumentCheck {
 public:
  // The error says why the schema can't be used. `closed`: an argument that the schema does not name would be
  // lost, so it is a problem, unless the schema itself speaks of further properties.
  static std::expected<std::shared_ptr<const ArgumentCheck>, std::string> compile(std::string_view schema,
                                                                                  bool closed);
  ~ArgumentCheck();
  ArgumentCheck(const ArgumentCheck&) = delete;
  ArgumentCheck& operator=(const ArgumentCheck&) = delete;

  // What is checked, as the problems call it.
  struct Subject {
    std::string_view whole = "the arguments";
    std::string_view part = "parameter";
    // To JSON Schema 1.0 is an integer; to a program that gets it as an argument it may not be.
    bool whole_is_integer = false;
  };
  static constexpr Subject of_a_result{.whole = "the output", .part = "property", .whole_is_integer = true};

  // What is wrong with them, a sentence each; empty: nothing.
  std::vector<std::string> problems(const Arguments& arguments, const Subject& subject) const;
  std::vector<std::string> problems(const Arguments& arguments) const;
  // What in the schema is not checked.
  const std::vector<std::string>& notes() const;

 private:
  explicit ArgumentCheck(std::unique_ptr<const schema::Schema> schema);
  std::unique_ptr<const schema::Schema> schema_;
};

}  // namespace mcpivot
