#include "gateway/control_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/utf8.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

constexpr std::size_t longest_shown = 60;

// The value; nothing if it is not given, or null.
std::string_view given(std::string_view arguments, std::string_view key) {
  const std::string_view value = find_member(arguments, key);
  return value == "null" ? std::string_view() : value;
}

// An integer as JSON Schema defines it: 2.0 and 2e1 are integers too.
std::optional<double> integer_in(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number != std::floor(number)) return {};
  return number;
}

// The object that a value is, or contains as a string; empty: neither.
std::string object_in(std::string_view value) {
  if (value.starts_with('{')) return std::string(value);
  if (!value.starts_with('"')) return {};
  std::string text = string_value(value);
  JsonCursor cursor(text);
  const bool is_object = cursor.next() == '{' && cursor.value() && cursor.end();
  // A message is one line.
  std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return is_object ? text : std::string();
}

bool is_a(std::string_view type, std::string_view value) {
  if (type == "string") return value.starts_with('"');
  if (type == "boolean") return value == "true" || value == "false";
  if (type == "integer") return integer_in(value).has_value();
  if (type == "object") return !object_in(value).empty();
  return true;
}

std::string_view kind_of(std::string_view value) {
  switch (value.front()) {
    case '"':
      return "the string";
    case '{':
      return "the object";
    case '[':
      return "the array";
    case 't':
    case 'f':
      return "the boolean";
    default:
      return "the number";
  }
}

std::string other_than(std::string_view what, std::string_view type, std::string_view value) {
  const bool vowel = type == "integer" || type == "object";
  const std::string shown =
      value.size() <= longest_shown ? std::string(value) : as_utf8(value.substr(0, longest_shown)) + "…";
  return fmt::format("{} must be {} {}{}; it was {} {}", what, vowel ? "an" : "a", type,
                     type == "boolean" ? ", true or false" : "", kind_of(value), shown);
}

}  // namespace

std::string text_argument(std::string_view arguments, std::string_view key) {
  return string_value(given(arguments, key));
}

int number_argument(std::string_view arguments, std::string_view key, int fallback) {
  const auto number = integer_in(given(arguments, key));
  if (!number) return fallback;
  using Limits = std::numeric_limits<int>;
  return static_cast<int>(std::clamp<double>(*number, Limits::min(), Limits::max()));
}

std::string object_argument(std::string_view arguments, std::string_view key) {
  return object_in(given(arguments, key));
}

std::string wrong_argument(std::string_view properties, std::string_view arguments) {
  if (arguments.empty() || arguments == "null") return {};
  if (!arguments.starts_with('{')) return other_than("\"arguments\"", "object", arguments);
  const std::string schema = fmt::format("{{{}}}", properties);
  std::string wrong;
  JsonCursor cursor(schema);
  cursor.object([&](const JsonCursor::Key& key) {
    Span property;
    if (!cursor.value(property)) return false;
    const std::string type = text_argument(property.of(schema), "type");
    const std::string_view value = given(arguments, key.text);
    if (wrong.empty() && !value.empty() && !is_a(type, value))
      wrong = other_than(quote(key.text), type, value);
    return true;
  });
  return wrong;
}

}  // namespace mcpivot
