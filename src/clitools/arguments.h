// The arguments of a tool call, each value as the client spelled it: 1e3, 0.10 and 9007199254740993 must
// reach a program unchanged.
//
// Borrows the JSON text, which must have been validated. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {

class Arguments {
 public:
  // `object` is the text of a JSON object; empty: no arguments.
  explicit Arguments(std::string_view object);

  // The JSON text of an argument. Empty: there is none, or it is null.
  std::string_view find(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string_view>>& all() const& { return values_; }
  void all() && = delete;  // what it returns would be gone
  std::string_view json() const { return object_; }

 private:
  std::string_view object_;
  std::vector<std::pair<std::string, std::string_view>> values_;
};

// A value as a program gets it: a string without its quotes, anything else as JSON on one line.
std::string plain_text(std::string_view json);

// The elements of a JSON array.
std::vector<std::string_view> elements_of(std::string_view array);

}  // namespace mcpivot
