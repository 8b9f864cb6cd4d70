// Reads JSON as people write it in configuration files: with comments (// and /* */), trailing commas and a
// byte order mark. The resulting tree knows where each key and value is, by line and column for messages, and
// by byte for editing a file in place without touching the rest of it.
//
// Boost.JSON keeps no positions, and JsonCursor no tree, so this one is our own. JSON text means the same to
// all of them. Duplicate keys are all kept: the reader of the tree decides.
//
// Plain data. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// Where a key or value is. Lines and columns count from 1, columns in characters.
struct JsoncPlace {
  std::size_t begin = 0;  // in bytes, from the beginning of the text, a byte order mark included
  std::size_t end = 0;    // just after it
  unsigned line = 1;
  unsigned column = 1;
};

struct JsoncMember;

struct JsoncValue {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  JsoncPlace place{};
  std::string text{};  // of a string: its value; of a number: as spelled
  std::vector<JsoncValue> elements;
  std::vector<JsoncMember> members;

  // The first member of that name, or null.
  const JsoncValue* find(std::string_view key) const;
};

struct JsoncMember {
  std::string key;
  JsoncPlace place{};  // of the key, with its quotes
  JsoncValue value{};
};

struct JsoncError {
  JsoncPlace place;
  std::string words;  // what was found there, what was expected, and how to write it
};

struct JsoncLimits {
  std::size_t bytes = 16UL * 1024 * 1024;
  std::size_t values = 1'000'000;
  unsigned depth = 200;
};

std::expected<JsoncValue, JsoncError> parse_jsonc(std::string_view text, const JsoncLimits& limits = {});

// "a string", "an object": for messages.
std::string_view kind_text(JsoncValue::Kind kind);

}  // namespace mcpivot
