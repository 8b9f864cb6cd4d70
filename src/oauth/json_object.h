// A JSON object from a party that we don't trust yet, accepted only if every parser reads it the same way:
// valid to its last byte, UTF-8, and without duplicate keys, however they are spelled.
//
// Borrows the text. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

class JsonObject {
 public:
  // Nothing: it isn't an object, or it can be read in more than one way.
  static std::optional<JsonObject> read(std::string_view json);

  bool has(std::string_view key) const { return members_.contains(key); }
  // As it is spelled; empty: there is none.
  std::string_view find(std::string_view key) const;
  // Nothing: there is none, or it isn't a string.
  std::optional<std::string> text(std::string_view key) const;
  // Nothing: there is none, or it isn't an array with nothing but strings.
  std::optional<std::vector<std::string>> texts(std::string_view key) const;

 private:
  std::map<std::string, std::string_view, std::less<>> members_;
};

// The elements of an array as they are spelled. Nothing: it isn't one, or has more than so many.
std::optional<std::vector<std::string_view>> json_elements(std::string_view json, std::size_t most);

}  // namespace mcpivot
