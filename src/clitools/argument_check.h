// Checks the arguments of a call against a tool's JSON Schema before anything runs, or a result against the
// output schema, and says what is wrong so that a model can act on it: which parameter, what was expected,
// what came.
//
// What is supported in a schema, and what isn't checked, is described in schema/schema.h. Any thread.
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
  // The error says why the schema can't be used. `closed`: an argument that the schema doesn't name would be
  // lost, so it is a problem, unless the schema itself mentions further properties.
  static std::expected<std::shared_ptr<const ArgumentCheck>, std::string> compile(std::string_view schema,
                                                                                  bool closed);
  ~ArgumentCheck();
  ArgumentCheck(const ArgumentCheck&) = delete;
  ArgumentCheck& operator=(const ArgumentCheck&) = delete;

  // How problems refer to what is checked.
  struct Subject {
    std::string_view whole = "the arguments";
    std::string_view part = "parameter";
    // To JSON Schema, 1.0 is an integer; to a program that gets it as an argument, it may not be.
    bool whole_is_integer = false;
  };
  static constexpr Subject of_a_result{.whole = "the output", .part = "property", .whole_is_integer = true};

  // What is wrong with them, a sentence each; empty: nothing.
  std::vector<std::string> problems(const Arguments& arguments, const Subject& subject) const;
  std::vector<std::string> problems(const Arguments& arguments) const;
  // What in the schema isn't checked.
  const std::vector<std::string>& notes() const;

 private:
  explicit ArgumentCheck(std::unique_ptr<const schema::Schema> schema);
  std::unique_ptr<const schema::Schema> schema_;
};

}  // namespace mcpivot
