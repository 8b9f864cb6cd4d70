#include "cli/tool_arguments.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "cli/did_you_mean.h"
#include "cli/schema_words.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using Wrong = std::unexpected<std::string>;

std::optional<json::value> parsed(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error) return std::nullopt;
  return value;
}

std::expected<std::string, std::string> content(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) return Wrong(fmt::format("can't read the file {}", file));
  return text;
}

// The value of a text whose type is unknown. 007 and 1.0.0 are text, as they are not valid JSON numbers.
json::value guessed(const std::string& text) {
  const auto value = parsed(text);
  return value && !value->is_string() && !value->is_null() ? *value : json::value(text);
}

bool is_whole(const json::value& value) {
  return value.is_int64() || value.is_uint64();
}

// Where a string is allowed, text stays text: the version 1.10 must not become a number.
std::optional<json::value> converted(const std::string& text, const std::set<std::string>& types) {
  if (types.contains("string")) return json::value(text);
  const auto value = parsed(text);
  if (!value) return std::nullopt;
  const bool fits =
      (types.contains("integer") && is_whole(*value)) || (types.contains("number") && value->is_number()) ||
      (types.contains("boolean") && value->is_bool()) || (types.contains("null") && value->is_null()) ||
      (types.contains("array") && value->is_array()) || (types.contains("object") && value->is_object());
  return fits ? value : std::nullopt;
}

std::string example_for(const std::string& key, const std::set<std::string>& types) {
  if (types.contains("array")) return fmt::format(" as JSON, such as {}='[…]'", key);
  if (types.contains("object")) return fmt::format(" as JSON, such as {}='{{…}}'", key);
  return {};
}

// The schema allows only the arguments it names; but a user who passes JSON may know better.
std::expected<void, std::string> check_known(const std::string& key, const json::object& schema) {
  const json::value* properties = schema.if_contains("properties");
  const json::value* more = schema.if_contains("additionalProperties");
  const bool open = more != nullptr && (more->is_object() || *more == json::value(true));
  if (open || properties == nullptr || !properties->is_object() || properties->get_object().contains(key))
    return {};
  std::vector<std::string> names;
  std::string list;
  for (const auto& [name, property] : properties->get_object()) {
    names.emplace_back(name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const std::string hint = did_you_mean(key, names);
  if (!hint.empty()) return Wrong(fmt::format("the tool has no argument {}.{}", key, hint));
  return Wrong(list.empty() ? "the tool takes no arguments"
                            : fmt::format("the tool has no argument {}; it has {}", key, list));
}

std::expected<json::value, std::string> value_of(const std::string& key, std::string text,
                                                 const json::object* schema) {
  if (schema == nullptr) return guessed(text);
  if (const auto known = check_known(key, *schema); !known) return Wrong(known.error());
  const json::value* property = property_of(*schema, key);
  const std::set<std::string> types =
      property == nullptr ? std::set<std::string>() : types_of(*property, *schema);
  if (types.empty()) return guessed(text);
  if (auto value = converted(text, types)) return *value;
  return Wrong(fmt::format("{}: expected {}{}, got: {}", key, type_text(*property, *schema),
                           example_for(key, types), text));
}

std::expected<void, std::string> add_pair(json::object& arguments, const std::string& word,
                                          std::size_t equals, const json::object* schema) {
  const bool is_json = equals > 0 && word[equals - 1] == ':';
  const std::string key = word.substr(0, is_json ? equals - 1 : equals);
  std::string text = word.substr(equals + 1);
  if (key.empty()) return Wrong(fmt::format("expected key=value, got: {}", word));
  if (arguments.contains(key)) return Wrong(fmt::format("{} is given twice", key));
  if (text.starts_with('@')) {
    auto found = content(text.substr(1));
    if (!found) return Wrong(fmt::format("{}: {}", key, found.error()));
    text = std::move(*found);
  }
  if (is_json) {
    const auto value = parsed(text);
    if (!value) return Wrong(fmt::format("{}:= needs JSON, and this isn't valid JSON: {}", key, text));
    arguments[key] = *value;
    return {};
  }
  auto value = value_of(key, std::move(text), schema);
  if (!value) return Wrong(value.error());
  arguments[key] = std::move(*value);
  return {};
}

}  // namespace

std::expected<json::object, std::string> tool_arguments(const std::vector<std::string>& words,
                                                        const json::object* input_schema) {
  json::object arguments;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (word.starts_with('{') || equals == std::string::npos) {
      const auto value = parsed(word);
      if (!value || !value->is_object())
        return Wrong(fmt::format(
            "the arguments must be key=value or a JSON object, such as text=x or {{\"text\":\"x\"}}; got: {}",
            word));
      for (const auto& [key, one] : value->get_object()) {
        if (arguments.contains(key)) return Wrong(fmt::format("{} is given twice", std::string_view(key)));
        arguments[key] = one;
      }
      continue;
    }
    if (const auto added = add_pair(arguments, word, equals, input_schema); !added)
      return Wrong(added.error());
  }
  return arguments;
}

}  // namespace mcpivot
