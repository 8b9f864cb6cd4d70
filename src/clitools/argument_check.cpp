#include "clitools/argument_check.h"

#include <fmt/format.h>

#if defined(__GNUC__) && !defined(__clang__)
// With sanitizers, g++ 12 sees an uninitialised std::function within std::regex, which the library uses.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// A pattern that takes more steps than this is given up. (The library casts it in the old style.)
#pragma GCC diagnostic ignored "-Wold-style-cast"
#define BOOST_REGEX_MAX_STATE_COUNT 5'000'000
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <boost/regex.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#define VALIJSON_USE_EXCEPTIONS 1  // it would abort
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#pragma GCC diagnostic pop

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t deepest = 256;
constexpr std::size_t longest_key = 1000;
constexpr std::size_t most_problems = 10;
constexpr std::size_t longest_shown = 200;

// Keywords of 2019-09 and 2020-12 that draft 7 has no counterpart for.
constexpr std::array unknown_keywords{"unevaluatedProperties", "unevaluatedItems", "minContains",
                                      "maxContains",           "$dynamicRef",      "$anchor",
                                      "$recursiveRef"};
// Keywords whose value is a map from names to schemas.
constexpr std::array schema_maps{"properties", "patternProperties", "definitions", "$defs", "dependencies"};
// Keywords whose value is no schema.
constexpr std::array plain_values{"enum", "const", "default", "examples", "required", "type"};
// Below these, a pattern decides which of several schemas applies, and cannot be checked on its own.
constexpr std::array choices{"anyOf",    "oneOf",         "not",          "if",
                             "then",     "else",          "$defs",        "definitions",
                             "contains", "propertyNames", "dependencies", "patternProperties"};

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string shown(const json::value& value) {
  std::string text = json::serialize(value);
  if (text.size() <= longest_shown) return text;
  std::size_t cut = longest_shown;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return fmt::format("{}… ({} bytes)", text.substr(0, cut), text.size());
}

// A schema without what would only be noise to a model.
std::string shown_schema(const json::value* schema) {
  if (schema == nullptr) return "something else";
  json::value copy = *schema;
  if (json::object* object = copy.if_object())
    for (const char* noise : {"description", "title", "examples", "$comment"}) object->erase(noise);
  return shown(copy);
}

std::expected<json::value, std::string> parse(std::string_view text) {
  json::parse_options options;
  options.max_depth = deepest;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  if (error) return std::unexpected(error.message());
  return value;
}

// Says the same in the words of draft 7, as far as that goes, and takes out what we check ourselves.
class Translation {
 public:
  std::vector<std::string> notes;

  void schema(json::value& value, bool in_choice) {
    json::object* object = value.if_object();
    if (object == nullptr) return;
    if (json::value* first = object->if_contains("prefixItems")) {
      json::value rest = object->contains("items") ? object->at("items") : json::value(true);
      json::value items = *first;
      object->erase("prefixItems");
      (*object)["items"] = std::move(items);
      (*object)["additionalItems"] = std::move(rest);
    }
    for (const char* keyword : {"dependentRequired", "dependentSchemas"}) {
      const json::value* found = object->if_contains(keyword);
      if (found == nullptr || !found->is_object()) continue;
      json::object all = object->contains("dependencies") && object->at("dependencies").is_object()
                             ? object->at("dependencies").as_object()
                             : json::object();
      for (const auto& [key, dependency] : found->get_object()) all[key] = dependency;
      object->erase(keyword);
      (*object)["dependencies"] = std::move(all);
    }
    for (const char* keyword : unknown_keywords)
      if (object->contains(keyword)) note(fmt::format("\"{}\" is not checked", keyword));
    if (object->contains("pattern") && in_choice)
      note("a \"pattern\" below anyOf, oneOf, $defs or the like is not checked");
    object->erase("pattern");
    object->erase("format");  // says what a string means, not what it may be
    object->erase("$schema");
    // The validator would look for other documents without end; and an id would make one of this.
    if (const json::value* reference = object->if_contains("$ref");
        reference != nullptr && reference->is_string() && !reference->get_string().starts_with('#'))
      throw std::runtime_error(
          fmt::format("a \"$ref\" in it, {}, leads out of it; only those that begin with # can be followed",
                      shown(*reference)));
    object->erase("$id");
    object->erase("id");
    for (auto& [key, member] : *object) {
      const bool choice = in_choice || is_one_of(choices, key);
      if (is_one_of(plain_values, key)) continue;
      if (is_one_of(schema_maps, key) && member.is_object()) {
        for (auto& entry : member.get_object()) schema(entry.value(), choice);
      } else if (member.is_array()) {
        for (json::value& element : member.get_array()) schema(element, choice);
      } else {
        schema(member, choice);
      }
    }
  }

  void note(std::string text) {
    if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
  }
};

// Finds references that lead back to themselves without going deeper into the value: the validator would
// follow them for ever.
class CircleSearch {
 public:
  explicit CircleSearch(const json::value& root) : root_(root) {}
  bool found(const json::value& value, int depth = 0) {
    if (depth > deepest_chain) return true;
    if (const json::array* array = value.if_array())
      return std::ranges::any_of(*array, [&](const json::value& one) { return found(one, depth + 1); });
    const json::object* object = value.if_object();
    if (object == nullptr) return false;
    return applies_to_itself(value, depth) ||
           std::ranges::any_of(*object, [&](const auto& member) { return found(member.value(), depth + 1); });
  }

 private:
  static constexpr int deepest_chain = 1000;

  // Along the schemas that apply to the very same value.
  bool applies_to_itself(const json::value& schema, int depth) {
    const json::object* object = schema.if_object();
    if (object == nullptr || done_.contains(&schema)) return false;
    if (depth > deepest_chain || !open_.insert(&schema).second) return true;
    bool circle = false;
    for (const char* keyword :
         {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies"}) {
      const json::value* value = object->if_contains(keyword);
      if (value == nullptr) continue;
      if (value->is_string()) value = target(value->get_string());
      if (value == nullptr) continue;
      if (const json::array* all = value->if_array()) {
        for (const json::value& one : *all) circle = circle || applies_to_itself(one, depth + 1);
      } else if (std::string_view(keyword) == "dependencies" && value->is_object()) {
        for (const auto& member : value->get_object())
          circle = circle || applies_to_itself(member.value(), depth + 1);
      } else {
        circle = circle || applies_to_itself(*value, depth + 1);
      }
    }
    open_.erase(&schema);
    done_.insert(&schema);
    return circle;
  }

  // What "#/$defs/name" points to; null: nothing here.
  const json::value* target(std::string_view reference) const {
    if (!reference.starts_with('#')) return nullptr;
    std::string pointer;  // "%24defs" is another spelling of "$defs"
    for (std::size_t i = 1; i < reference.size(); ++i) {
      unsigned code = 0;
      const char* digits = reference.data() + i + 1;
      const bool encoded = reference[i] == '%' && i + 2 < reference.size() &&
                           std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
      pointer += encoded ? static_cast<char>(code) : reference[i];
      if (encoded) i += 2;
    }
    boost::system::error_code error;
    return root_.find_pointer(pointer, error);
  }

  const json::value& root_;
  std::set<const json::value*> open_;
  std::set<const json::value*> done_;
};

using Patterns = std::map<std::string, std::optional<boost::regex>, std::less<>>;

const boost::regex* compiled(const std::string& pattern, Patterns& patterns) {
  auto found = patterns.find(pattern);
  if (found == patterns.end()) {
    std::optional<boost::regex> regex;
    try {
      regex.emplace(pattern, boost::regex::ECMAScript);
    } catch (const std::exception&) {
      regex.reset();  // it may use what this engine does not know
    }
    found = patterns.emplace(pattern, std::move(regex)).first;
  }
  return found->second ? &*found->second : nullptr;
}

void compile_patterns(const json::value& schema, Patterns& patterns, Translation& translation) {
  if (const json::object* object = schema.if_object()) {
    const json::value* pattern = object->if_contains("pattern");
    if (pattern != nullptr && pattern->is_string()) {
      const std::string text(pattern->get_string());
      if (compiled(text, patterns) == nullptr)
        translation.note(fmt::format("the pattern {} is not understood, and not checked", shown(*pattern)));
    }
    for (const auto& [key, member] : *object) compile_patterns(member, patterns, translation);
  } else if (const json::array* array = schema.if_array()) {
    for (const json::value& element : *array) compile_patterns(element, patterns, translation);
  }
}

// "[limit]" as the validator spells it.
std::string_view step_name(std::string_view step) {
  if (step.starts_with('[') && step.ends_with(']')) return step.substr(1, step.size() - 2);
  return step;
}

const json::value* member_of(const json::value* value, std::string_view step) {
  if (value == nullptr) return nullptr;
  if (const json::object* object = value->if_object()) return object->if_contains(step);
  if (const json::array* array = value->if_array()) {
    std::size_t index = 0;
    for (const char c : step) {
      if (c < '0' || c > '9' || index > array->size()) return nullptr;
      index = index * 10 + static_cast<std::size_t>(c - '0');
    }
    return array->if_contains(index);
  }
  return nullptr;
}

// The schema of a member, as far as it is plain to see.
const json::value* schema_of_member(const json::value* schema, std::string_view step, bool in_array) {
  const json::object* object = schema == nullptr ? nullptr : schema->if_object();
  if (object == nullptr) return nullptr;
  if (in_array) {
    const json::value* items = object->if_contains("items");
    return items != nullptr && items->is_object() ? items : nullptr;
  }
  const json::value* properties = object->if_contains("properties");
  return properties != nullptr && properties->is_object() ? properties->get_object().if_contains(step)
                                                          : nullptr;
}

// Writes whole numbers as the validator wants its integers.
void make_integers(json::value& value) {
  constexpr double largest = 9'007'199'254'740'992;  // beyond it a double is no exact number
  if (json::object* object = value.if_object()) {
    for (auto& member : *object) make_integers(member.value());
  } else if (json::array* array = value.if_array()) {
    for (json::value& element : *array) make_integers(element);
  } else if (value.is_double() && std::abs(value.get_double()) <= largest &&
             std::trunc(value.get_double()) == value.get_double()) {
    value = static_cast<std::int64_t>(value.get_double());
  }
}

bool has_long_key(const json::value& value) {
  if (const json::object* object = value.if_object())
    return std::ranges::any_of(*object, [](const auto& member) {
      return member.key().size() > longest_key || has_long_key(member.value());
    });
  if (const json::array* array = value.if_array()) return std::ranges::any_of(*array, has_long_key);
  return false;
}

}  // namespace

struct ArgumentCheck::Impl {
  json::value original;    // as the tool has it
  json::value translated;  // for the validator, which does not copy it
  valijson::Schema schema;
  mutable Patterns patterns;
  std::vector<std::string> notes;
  std::vector<std::string> names;  // of parameters
  bool names_are_all = false;      // an argument of any other name would be lost

  // Where a value lies, from the top: {"filters", "0", "name"}.
  using Path = std::vector<std::string>;

  std::string problem_at(const Path& path, const json::value& arguments, std::string_view why,
                         const Subject& subject) const {
    const json::value* value = &arguments;
    const json::value* expected = &original;
    std::string where;
    for (const std::string& step : path) {
      expected = schema_of_member(expected, step, value != nullptr && value->is_array());
      value = member_of(value, step);
      where += where.empty() ? step : "." + step;
    }
    if (path.empty()) return fmt::format("{}: {}", subject.whole, why);
    return fmt::format("{}: expected {}, got {} ({})", where, shown_schema(expected),
                       value == nullptr ? "nothing" : shown(*value), why);
  }

  void check_names(const Arguments& arguments, const Subject& subject,
                   std::vector<std::string>& problems) const {
    const json::object& object = original.as_object();
    if (const json::value* required = object.if_contains("required");
        required != nullptr && required->is_array())
      for (const json::value& name : required->get_array()) {
        if (!name.is_string()) continue;
        const bool there = std::ranges::any_of(arguments.all(), [&](const auto& argument) {
          return argument.first == std::string_view(name.get_string());
        });
        if (!there)
          problems.push_back(
              fmt::format("{}: is missing; expected {}", std::string_view(name.get_string()),
                          shown_schema(schema_of_member(&original, name.get_string(), false))));
      }
    if (!names_are_all) return;
    for (const auto& [name, value] : arguments.all())
      if (!is_one_of(names, name))
        problems.push_back(fmt::format("{}: there is no such {}; there {}{}", shown(json::value(name)),
                                       subject.part,
                                       names.empty() ? "are none" : "are: ", fmt::join(names, ", ")));
  }

  void check_patterns(const json::value& rule, const json::value& value, Path& path, const json::value& all,
                      const Subject& subject, std::vector<std::string>& problems) const {
    const json::object* object = rule.if_object();
    if (object == nullptr) return;
    if (const json::value* pattern = object->if_contains("pattern");
        pattern != nullptr && pattern->is_string() && value.is_string()) {
      const boost::regex* regex = compiled(std::string(pattern->get_string()), patterns);
      try {
        const json::string& text = value.get_string();
        if (regex != nullptr && !boost::regex_search(text.data(), text.data() + text.size(), *regex))
          problems.push_back(problem_at(path, all, "it does not match the pattern", subject));
      } catch (const std::exception&) {
        problems.push_back(problem_at(path, all, "matching its pattern takes too long", subject));
      }
    }
    if (const json::value* both = object->if_contains("allOf"); both != nullptr && both->is_array())
      for (const json::value& part : both->get_array())
        check_patterns(part, value, path, all, subject, problems);
    auto descend = [&](const json::value* inner, std::string step, const json::value& member) {
      if (inner == nullptr) return;
      path.push_back(std::move(step));
      check_patterns(*inner, member, path, all, subject, problems);
      path.pop_back();
    };
    if (value.is_object()) {
      for (const auto& member : value.get_object())
        descend(schema_of_member(&rule, member.key(), false), std::string(member.key()), member.value());
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.get_array().size(); ++i)
        descend(schema_of_member(&rule, {}, true), std::to_string(i), value.get_array()[i]);
    }
  }

  void check_schema(const json::value& arguments, const Subject& subject,
                    std::vector<std::string>& problems) const {
    valijson::Validator validator;
    valijson::ValidationResults results;
    const valijson::adapters::BoostJsonAdapter target(arguments);
    if (validator.validate(schema, target, &results)) return;
    // Of several errors about one value the last sums up the others; vague ones only repeat that something
    // inside is wrong.
    std::map<Path, std::string_view> telling;
    std::map<Path, std::string_view> vague;
    for (const auto& error : results) {
      Path path;
      for (std::size_t i = 1; i < error.context.size(); ++i) path.emplace_back(step_name(error.context[i]));
      std::string_view why = error.description;
      if (why.ends_with('.')) why.remove_suffix(1);
      const bool said = path.empty() && (why.starts_with("Missing required property") ||
                                         (names_are_all && why.starts_with("Object contains a property")));
      if (said) continue;
      const bool is_vague = why.starts_with("Failed to validate against schema associated") ||
                            why.starts_with("Failed to validate item #") ||
                            why.starts_with("Failed to validate against child schema");
      (is_vague ? vague : telling)[std::move(path)] = why;
    }
    if (telling.empty() && problems.empty()) telling = std::move(vague);
    for (const auto& [path, why] : telling) problems.push_back(problem_at(path, arguments, why, subject));
    if (problems.empty()) problems.emplace_back(subject.misfit);
  }
};

ArgumentCheck::ArgumentCheck(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ArgumentCheck::~ArgumentCheck() = default;

std::expected<std::shared_ptr<const ArgumentCheck>, std::string> ArgumentCheck::compile(
    std::string_view schema, bool closed) {
  auto value = parse(schema);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return std::unexpected("it is no JSON object");
  auto impl = std::make_unique<Impl>();
  impl->original = std::move(*value);
  impl->translated = impl->original;
  const json::object& object = impl->original.get_object();

  if (const json::value* properties = object.if_contains("properties")) {
    if (!properties->is_object()) return std::unexpected("its \"properties\" is no object");
    for (const auto& property : properties->get_object()) impl->names.emplace_back(property.key());
  }
  const bool speaks_of_others =
      std::ranges::any_of(std::array{"patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if"},
                          [&](const char* keyword) { return object.contains(keyword); });
  const json::value* others = object.if_contains("additionalProperties");
  const bool no_others = others != nullptr && others->is_bool() && !others->get_bool();
  impl->names_are_all = !speaks_of_others && (no_others || (closed && others == nullptr));

  Translation translation;
  try {
    translation.schema(impl->translated, false);
    compile_patterns(impl->original, impl->patterns, translation);
    if (CircleSearch(impl->translated).found(impl->translated))
      return std::unexpected("a \"$ref\" in it goes round in a circle");
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::BoostJsonAdapter(impl->translated), impl->schema);
  } catch (const std::exception& error) {
    return std::unexpected(error.what());
  }
  impl->notes = std::move(translation.notes);
  return std::shared_ptr<const ArgumentCheck>(new ArgumentCheck(std::move(impl)));
}

std::vector<std::string> ArgumentCheck::problems(const Arguments& arguments) const {
  return problems(arguments, Subject());
}

std::vector<std::string> ArgumentCheck::problems(const Arguments& arguments, const Subject& subject) const {
  std::vector<std::string> problems;
  auto value = parse(arguments.json());
  if (value && subject.whole_is_integer) make_integers(*value);
  if (!value) return {fmt::format("{} cannot be read: {}", subject.whole, value.error())};
  if (!value->is_object()) return {"the arguments are no JSON object"};  // an output always is one
  if (has_long_key(*value))
    return {fmt::format("a key in {} is over {} bytes long", subject.whole, longest_key)};
  try {
    impl_->check_names(arguments, subject, problems);
    Impl::Path path;
    impl_->check_patterns(impl_->original, *value, path, *value, subject, problems);
    impl_->check_schema(*value, subject, problems);
  } catch (const std::exception& error) {
    problems.push_back(fmt::format("{} cannot be checked: {}", subject.whole, error.what()));
  }
  if (problems.size() > most_problems) {
    const std::size_t more = problems.size() - most_problems;
    problems.resize(most_problems);
    problems.push_back(fmt::format("and {} more", more));
  }
  return problems;
}

const std::vector<std::string>& ArgumentCheck::notes() const {
  return impl_->notes;
}

}  // namespace mcpivot
