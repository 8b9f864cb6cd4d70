#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <unordered_map>

#include "base/contains.h"
#include "schema/program.h"
#include "schema/references.h"
#include "schema/values.h"

namespace mcpivot::schema {
namespace {

namespace json = boost::json;

// Why a schema can't be used; never leaves this file.
struct Unusable {
  std::string why;
};

constexpr std::array<std::pair<std::string_view, Types>, 7> type_names{{{"null", null_type},
                                                                        {"boolean", boolean_type},
                                                                        {"object", object_type},
                                                                        {"array", array_type},
                                                                        {"number", number_type},
                                                                        {"integer", integer_type},
                                                                        {"string", string_type}}};

class Compiler {
 public:
  explicit Compiler(const json::value& document) : document_(document), references_(document) {}

  Program run() {
    if (!count_values(document_, deepest_value))
      throw Unusable{fmt::format("it's nested more than {} levels deep", deepest_value)};
    read_dialect();
    program_.root = node(document_, 0);
    // A target that no keyword leads to is compiled here, and may have references of its own.
    for (std::size_t i = 0; i < pending_.size(); ++i) resolve(i);
    if (has_circle(program_)) throw Unusable{"a \"$ref\" in it is circular"};
    return std::move(program_);
  }

 private:
  struct Pending {
    Index logic;
    std::string reference;
    References::Resource from;
    std::string place;
  };

  // ---- Notes about the schema.

  std::string place() const {
    return path_.empty() ? std::string() : fmt::format(" (at #/{})", fmt::join(path_, "/"));
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view what, const json::value& value) const {
    throw Unusable{fmt::format("\"{}\" must be {}, not {}{}", key, what, shown(value), place())};
  }
  void note(std::string text) {
    if (!contains(program_.notes, text)) program_.notes.push_back(std::move(text));
  }

  void read_dialect() {
    const json::object* object = document_.if_object();
    const json::value* name = object == nullptr ? nullptr : object->if_contains("$schema");
    if (name == nullptr) return;
    if (!name->is_string()) refuse("$schema", "a string", *name);
    const std::string_view dialect = name->get_string();
    const auto names = [&](auto... draft) { return (dialect.contains(draft) || ...); };
    if (!names("json-schema.org/"))
      note(fmt::format("the dialect {} is unknown; read as draft 2020-12", shown(*name)));
    reference_stands_alone_ = names("/draft-04/", "/draft-06/", "/draft-07/");
  }

  // ---- Keywords' values.

  static const json::value* find(const json::object& schema, std::string_view key) {
    return schema.if_contains(key);
  }

  std::string_view text(std::string_view key, const json::value& value) const {
    if (!value.is_string()) refuse(key, "a string", value);
    return value.get_string();
  }

  const json::object& map(std::string_view key, const json::value& value) const {
    if (!value.is_object()) refuse(key, "an object", value);
    return value.get_object();
  }

  const json::array& list(std::string_view key, const json::value& value) const {
    if (!value.is_array()) refuse(key, "an array", value);
    return value.get_array();
  }

  std::vector<std::string> names(std::string_view key, const json::value& value) const {
    std::vector<std::string> all;
    for (const json::value& name : list(key, value)) {
      if (!name.is_string()) refuse(key, "an array of strings", value);
      all.emplace_back(name.get_string());
    }
    return all;
  }

  bool read_count(const json::object& schema, std::string_view key, std::uint64_t& count) const {
    const json::value* value = find(schema, key);
    if (value == nullptr) return false;
    if (!value->is_number() || !is_whole(*value) || number_of(*value) < 0)
      refuse(key, "a whole number of 0 or more", *value);
    constexpr long double largest = std::numeric_limits<std::uint64_t>::max();
    count = static_cast<std::uint64_t>(std::min(number_of(*value), largest));
    return true;
  }

  bool read_limits(const json::object& schema, std::string_view least, std::string_view most,
                   Limits& limits) const {
    const bool low = read_count(schema, least, limits.least);
    return read_count(schema, most, limits.most) || low;
  }

  bool read_number(const json::object& schema, std::string_view key, json::value& number) const {
    const json::value* value = find(schema, key);
    if (value == nullptr) return false;
    if (!value->is_number()) refuse(key, "a number", *value);
    number = *value;
    return true;
  }

  Index pattern(std::string_view text) {
    for (Index i = 0; i < program_.patterns.size(); ++i)
      if (program_.patterns[i].text() == text) return i;
    program_.patterns.emplace_back(text);
    if (!program_.patterns.back().understood())
      note(fmt::format("the pattern {} isn't understood, and is not checked", shown(json::value(text))));
    return static_cast<Index>(program_.patterns.size() - 1);
  }

  // ---- Schemas below a schema.

  Index below(std::string_view key, const json::value& schema, References::Resource resource) {
    path_.emplace_back(key);
    const Index index = node(schema, resource);
    path_.pop_back();
    return index;
  }

  bool read_schema(const json::object& schema, std::string_view key, References::Resource resource,
                   Index& index) {
    const json::value* value = find(schema, key);
    if (value == nullptr) return false;
    index = below(key, *value, resource);
    return true;
  }

  bool read_schemas(const json::object& schema, std::string_view key, References::Resource resource,
                    std::vector<Index>& all) {
    const json::value* value = find(schema, key);
    if (value == nullptr) return false;
    const json::array& schemas = list(key, *value);
    path_.emplace_back(key);
    for (std::size_t i = 0; i < schemas.size(); ++i)
      all.push_back(below(std::to_string(i), schemas[i], resource));
    path_.pop_back();
    return true;
  }

  // Calls `take` with each name and node.
  bool read_map(const json::object& schema, std::string_view key, References::Resource resource,
                const auto& take) {
    const json::value* value = find(schema, key);
    if (value == nullptr) return false;
    path_.emplace_back(key);
    for (const auto& member : map(key, *value))
      take(member.key(), below(member.key(), member.value(), resource));
    path_.pop_back();
    return true;
  }

  // ---- The keywords, by the kind of value that they check.

  void read_type(const json::object& schema, Node& node) const {
    const json::value* value = find(schema, "type");
    if (value == nullptr) return;
    const auto add = [&](const json::value& name) {
      const auto* type = std::ranges::find_if(type_names, [&](const auto& known) {
        return name.is_string() && known.first == std::string_view(name.get_string());
      });
      if (type == type_names.end())
        refuse("type", "null, boolean, object, array, number, integer or string", name);
      node.types |= type->second;
    };
    if (const json::array* names = value->if_array())
      std::ranges::for_each(*names, add);
    else
      add(*value);
    if (node.types == 0) refuse("type", "a type", *value);
  }

  void read_numbers(const json::object& schema, Node& node) {
    NumberRules rules;
    bool any = read_number(schema, "minimum", rules.at_least);
    any |= read_number(schema, "maximum", rules.at_most);
    any |= read_number(schema, "exclusiveMinimum", rules.above);
    any |= read_number(schema, "exclusiveMaximum", rules.below);
    any |= read_number(schema, "multipleOf", rules.multiple_of);
    if (!rules.multiple_of.is_null() && number_of(rules.multiple_of) <= 0)
      refuse("multipleOf", "greater than 0", rules.multiple_of);
    if (any) node.number = add(program_.numbers, std::move(rules));
  }

  void read_strings(const json::object& schema, Node& node) {
    StringRules rules;
    bool any = read_limits(schema, "minLength", "maxLength", rules.length);
    if (const json::value* value = find(schema, "pattern")) {
      rules.pattern = pattern(text("pattern", *value));
      any = true;
    }
    if (any) node.string = add(program_.strings, rules);
  }

  void read_arrays(const json::object& schema, References::Resource resource, Node& node) {
    ArrayRules rules;
    bool any = read_limits(schema, "minItems", "maxItems", rules.size);
    if (const json::value* value = find(schema, "uniqueItems")) {
      if (!value->is_bool()) refuse("uniqueItems", "true or false", *value);
      rules.unique = value->get_bool();
      any = true;
    }
    any |= read_schemas(schema, "prefixItems", resource, rules.first);
    const json::value* items = find(schema, "items");
    if (items != nullptr && items->is_array() && rules.first.empty()) {  // draft 7
      any |= read_schemas(schema, "items", resource, rules.first);
      read_schema(schema, "additionalItems", resource, rules.rest);
    } else {
      any |= read_schema(schema, "items", resource, rules.rest);
    }
    any |= read_schema(schema, "contains", resource, rules.contains);
    read_limits(schema, "minContains", "maxContains", rules.containing);
    any |= read_schema(schema, "unevaluatedItems", resource, rules.unevaluated);
    if (any) node.array = add(program_.arrays, std::move(rules));
  }

  void read_objects(const json::object& schema, References::Resource resource, Node& node) {
    ObjectRules rules;
    bool any = read_limits(schema, "minProperties", "maxProperties", rules.size);
    any |= read_map(schema, "properties", resource,
                    [&](std::string_view name, Index index) { rules.properties.emplace_back(name, index); });
    any |= read_map(schema, "patternProperties", resource, [&](std::string_view name, Index index) {
      rules.match.emplace_back(pattern(name), index);
    });
    any |= read_schema(schema, "additionalProperties", resource, rules.additional);
    any |= read_schema(schema, "propertyNames", resource, rules.names);
    any |= read_schema(schema, "unevaluatedProperties", resource, rules.unevaluated);
    any |= read_map(schema, "dependentSchemas", resource,
                    [&](std::string_view name, Index index) { rules.dependent.emplace_back(name, index); });
    if (const json::value* value = find(schema, "required")) {
      rules.required = names("required", *value);
      any = true;
    }
    if (const json::value* value = find(schema, "dependentRequired")) {
      for (const auto& member : map("dependentRequired", *value))
        rules.needs.emplace_back(member.key(), names("dependentRequired", member.value()));
      any = true;
    }
    if (const json::value* value = find(schema, "dependencies")) {  // draft 7
      for (const auto& member : map("dependencies", *value))
        if (member.value().is_array())
          rules.needs.emplace_back(member.key(), names("dependencies", member.value()));
        else
          rules.dependent.emplace_back(member.key(), below("dependencies", member.value(), resource));
      any = true;
    }
    if (!any) return;
    rules.by_name.resize(rules.properties.size());
    for (Index i = 0; i < rules.by_name.size(); ++i) rules.by_name[i] = i;
    std::ranges::sort(rules.by_name, {},
                      [&](Index i) -> const std::string& { return rules.properties[i].first; });
    node.object = add(program_.objects, std::move(rules));
  }

  void read_logic(const json::object& schema, References::Resource resource, Node& node) {
    LogicRules rules;
    bool any = read_schemas(schema, "allOf", resource, rules.all);
    any |= read_schemas(schema, "anyOf", resource, rules.any);
    any |= read_schemas(schema, "oneOf", resource, rules.one);
    any |= read_schema(schema, "not", resource, rules.negated);
    any |= read_schema(schema, "if", resource, rules.condition);
    any |= read_schema(schema, "then", resource, rules.consequence);
    any |= read_schema(schema, "else", resource, rules.alternative);
    const json::value* reference = find(schema, "$ref");
    if (!any && reference == nullptr) return;
    node.logic = add(program_.logic, std::move(rules));
    if (reference != nullptr) refer(text("$ref", *reference), resource, node.logic);
  }

  // ---- Names and references.

  void refer(std::string_view reference, References::Resource resource, Index logic) {
    pending_.push_back(
        {.logic = logic, .reference = std::string(reference), .from = resource, .place = place()});
  }

  void resolve(std::size_t i) {
    const Pending pending = pending_[i];
    const auto target = references_.find(pending.from, pending.reference);
    if (!target)
      throw Unusable{fmt::format("a \"$ref\" in it, {}, {}{}", shown(json::value(pending.reference)),
                                 target.error(), pending.place)};
    const Index index = node(*target->schema, target->resource);
    program_.logic[pending.logic].reference = index;
  }

  References::Resource read_names(const json::object& object, References::Resource resource,
                                  const json::value& schema) {
    if (const json::value* value = find(object, "$id")) {
      const std::string_view id = text("$id", *value);
      if (id.starts_with('#'))
        references_.add_anchor(resource, id.substr(1), schema);  // draft 7
      else
        resource = references_.add_resource(resource, id, schema);
    }
    for (const char* key : {"$anchor", "$dynamicAnchor"})
      if (const json::value* value = find(object, key))
        references_.add_anchor(resource, text(key, *value), schema);
    for (const char* key : {"$dynamicRef", "$recursiveRef"})
      if (object.contains(key)) note(fmt::format("\"{}\" is not checked", key));
    return resource;
  }

  template <class Rules>
  static Index add(std::vector<Rules>& list, Rules rules) {
    list.push_back(std::move(rules));
    return static_cast<Index>(list.size() - 1);
  }

  Index node(const json::value& schema, References::Resource resource) {
    if (const auto known = nodes_.find(&schema); known != nodes_.end()) return known->second;
    const Index index = add(program_.nodes, Node());
    nodes_.emplace(&schema, index);
    if (const bool* answer = schema.if_bool()) {
      program_.nodes[index].never = !*answer;
      return index;
    }
    const json::object* object = schema.if_object();
    if (object == nullptr)
      throw Unusable{
          fmt::format("a schema must be an object, true or false, not {}{}", shown(schema), place())};
    Node made;
    if (reference_stands_alone_ && object->contains("$ref")) {
      made.logic = add(program_.logic, LogicRules());
      refer(text("$ref", object->at("$ref")), resource, made.logic);
      program_.nodes[index] = std::move(made);
      return index;
    }
    resource = read_names(*object, resource, schema);
    read_type(*object, made);
    if (const json::value* value = find(*object, "const")) made.constant = *value;
    if (const json::value* value = find(*object, "enum")) {
      const json::array& all = list("enum", *value);
      made.choices.emplace(all.begin(), all.end());
    }
    read_numbers(*object, made);
    read_strings(*object, made);
    read_arrays(*object, resource, made);
    read_objects(*object, resource, made);
    read_logic(*object, resource, made);
    for (const char* key : {"$defs", "definitions"})
      read_map(*object, key, resource, [](std::string_view, Index) {});
    program_.nodes[index] = std::move(made);
    return index;
  }

  const json::value& document_;
  References references_;
  Program program_;
  bool reference_stands_alone_ = false;
  std::unordered_map<const json::value*, Index> nodes_;
  std::vector<Pending> pending_;
  std::vector<std::string> path_;
};

}  // namespace

std::expected<Program, std::string> compile(const json::value& schema) {
  try {
    return Compiler(schema).run();
  } catch (const Unusable& unusable) {
    return std::unexpected(unusable.why);
  }
}

}  // namespace mcpivot::schema
