#include "cli/schema_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "search/nearest_tools.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr int deepest = 8;  // a schema may refer to itself
constexpr std::size_t most_values = 12;
constexpr std::array choices{"anyOf", "oneOf"};

std::string type_name(const json::value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  if (value.is_null()) return "null";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return value.is_double() ? "number" : "integer";
}

void collect_types(const json::value& schema, const json::object& root, int depth,
                   std::set<std::string>& types) {
  const json::value& meant = resolved(schema, root);
  if (!meant.is_object() || depth > deepest) return;
  const json::object& object = meant.get_object();
  if (const json::value* type = object.if_contains("type")) {
    if (type->is_string()) types.emplace(type->get_string());
    if (type->is_array())
      for (const json::value& one : type->get_array())
        if (one.is_string()) types.emplace(one.get_string());
    return;
  }
  if (const json::value* only = object.if_contains("const")) types.insert(type_name(*only));
  if (const json::value* values = object.if_contains("enum"); values != nullptr && values->is_array())
    for (const json::value& one : values->get_array()) types.insert(type_name(one));
  for (const char* const key : {"anyOf", "oneOf", "allOf"})
    if (const json::value* all = object.if_contains(key); all != nullptr && all->is_array())
      for (const json::value& one : all->get_array()) collect_types(one, root, depth + 1, types);
}

std::string plural(const std::string& type) {
  static const std::set<std::string> countable{"string", "number", "integer", "boolean", "array", "object"};
  return countable.contains(type) ? type + "s" : type;
}

std::string text_at(const json::value& schema, const json::object& root, int depth);

// Alternatives that read the same are listed once.
void add(std::vector<std::string>& words, std::string word) {
  if (!word.empty() && std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
}

std::string typed(const std::string& type, const json::object& object, const json::object& root, int depth) {
  const json::value* items = type == "array" ? object.if_contains("items") : nullptr;
  const std::string of = items == nullptr ? std::string() : text_at(*items, root, depth + 1);
  return of.empty() || of == "any" ? type : fmt::format("array of {}", plural(of));
}

std::string text_at(const json::value& schema, const json::object& root, int depth) {
  const json::value& meant = resolved(schema, root);
  if (!meant.is_object() || depth > deepest) return "any";
  const json::object& object = meant.get_object();
  std::vector<std::string> words;
  if (const json::value* only = object.if_contains("const")) return json::serialize(*only);
  if (const json::value* values = object.if_contains("enum"); values != nullptr && values->is_array()) {
    const json::array& all = values->get_array();
    for (std::size_t i = 0; i < std::min(all.size(), most_values); ++i) add(words, json::serialize(all[i]));
    if (all.size() > most_values) words.push_back(fmt::format("{} more", all.size() - most_values));
    return alternatives(words);
  }
  for (const char* const key : choices)
    if (const json::value* all = object.if_contains(key); all != nullptr && all->is_array())
      for (const json::value& one : all->get_array()) add(words, text_at(one, root, depth + 1));
  if (!words.empty()) return alternatives(words);
  if (const json::value* type = object.if_contains("type")) {
    if (type->is_string()) add(words, typed(std::string(type->get_string()), object, root, depth));
    if (type->is_array())
      for (const json::value& one : type->get_array())
        if (one.is_string()) add(words, typed(std::string(one.get_string()), object, root, depth));
    if (!words.empty()) return alternatives(words);
  }
  if (const json::value* all = object.if_contains("allOf"); all != nullptr && all->is_array())
    for (const json::value& one : all->get_array())
      if (const std::string text = text_at(one, root, depth + 1); text != "any") return text;
  return object.contains("properties") ? "object" : "any";
}

}  // namespace

const json::value& resolved(const json::value& schema, const json::object& root) {
  const json::value* here = &schema;
  for (int step = 0; step < deepest && here->is_object(); ++step) {
    const json::value* reference = here->get_object().if_contains("$ref");
    if (reference == nullptr || !reference->is_string()) break;
    const std::string_view path = reference->get_string();
    if (!path.starts_with("#/")) break;
    const json::value* found = nullptr;
    const json::object* object = &root;
    for (std::size_t begin = 2; begin <= path.size() && object != nullptr;) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      found = object->if_contains(path.substr(begin, end - begin));
      object = found == nullptr ? nullptr : found->if_object();
      begin = end + 1;
    }
    if (found == nullptr) break;
    here = found;
  }
  return *here;
}

std::set<std::string> types_of(const json::value& schema, const json::object& root) {
  std::set<std::string> types;
  collect_types(schema, root, 0, types);
  return types;
}

std::string type_text(const json::value& schema, const json::object& root) {
  return text_at(schema, root, 0);
}

const json::object* properties_of(const json::object& schema) {
  const json::value* properties = schema.if_contains("properties");
  return properties == nullptr ? nullptr : properties->if_object();
}

const json::value* property_of(const json::object& input_schema, std::string_view key) {
  const json::object* properties = properties_of(input_schema);
  return properties == nullptr ? nullptr : properties->if_contains(key);
}

}  // namespace mcpivot
