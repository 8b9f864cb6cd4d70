#include "config/key_docs.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "config/keys.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

// Two spaces per level; what fits on a line and contains nothing nested stays on it.
void pretty(const json::value& value, std::size_t indent, std::string& to) {
  const std::string flat = json::serialize(value);
  const bool container = value.is_object() || value.is_array();
  if (!container || flat.find_first_of("{[", 1) == std::string::npos) {
    if (!container || flat.size() + indent <= 80) {
      to += flat;
      return;
    }
  }
  const std::string margin(indent + 2, ' ');
  const char* separator = "\n";
  to += value.is_object() ? '{' : '[';
  auto begin_line = [&] {
    (to += separator) += margin;
    separator = ",\n";
  };
  if (value.is_object())
    for (const auto& member : value.get_object()) {
      begin_line();
      (to += json::serialize(json::string(member.key()))) += ": ";
      pretty(member.value(), indent + 2, to);
    }
  if (value.is_array())
    for (const json::value& element : value.get_array()) {
      begin_line();
      pretty(element, indent + 2, to);
    }
  (to += '\n') += std::string(indent, ' ');
  to += value.is_object() ? '}' : ']';
}

json::object list_of_strings() {
  return {{"type", "array"}, {"items", {{"type", "string"}}}};
}
json::object map_of(json::value value) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}};
}

json::object requires_key(std::string_view key) {
  return {{"required", json::array{key}}};
}

json::object group_schema(std::span<const Key> keys);

json::object value_schema(const Key& key) {
  switch (key.type) {
    case KeyType::ignored:
      return {};
    case KeyType::flag:
      return {{"type", "boolean"}};
    case KeyType::text:
    case KeyType::path:
    case KeyType::calls:
      return {{"type", "string"}};
    case KeyType::program:
      return {{"type", "string"}, {"minLength", 1}};
    case KeyType::texts:
    case KeyType::answer_paths:
    case KeyType::tool_globs:
    case KeyType::patterns:
      return list_of_strings();
    case KeyType::command: {
      json::object schema = list_of_strings();
      schema["minItems"] = 1;
      return schema;
    }
    case KeyType::tool_texts:
    case KeyType::headers:
      return map_of({{"type", "string"}});
    case KeyType::variables:
      return map_of({{"type", {"string", "number", "boolean", "null"}}});
    case KeyType::globs:
      return {{"oneOf", {list_of_strings(), {{"type", "string"}}, {{"type", "boolean"}}}}};
    case KeyType::replay:
      return {{"type", "array"}, {"items", {{"type", "string"}, {"pattern", "^[^:]+(:[^=]+=.*)?$"}}}};
    case KeyType::tool_names:
      return map_of({{"type", "string"}, {"pattern", "^[A-Za-z0-9_-]{1,48}$"}});
    case KeyType::time:
      return {{"oneOf",
               {{{"type", "string"}, {"pattern", "^([0-9.]+ ?(ms|s|m|min|h)?|.*\\$\\{.*)$"}},
                {{"type", "number"}, {"minimum", 0}}}}};
    case KeyType::bytes:
      return {{"oneOf",
               {{{"type", "string"}, {"pattern", "^([0-9.]+ ?([kKmMgG][iI]?)?[bB]?|.*\\$\\{.*)$"}},
                {{"type", "integer"}, {"minimum", key.least}, {"maximum", key.most}}}}};
    case KeyType::count:
      return {{"type", "integer"}, {"minimum", key.least}, {"maximum", key.most}};
    case KeyType::choice: {
      json::array choices;
      for (const std::string_view choice : key.choices) choices.emplace_back(choice);
      return {{"enum", choices}};
    }
    case KeyType::choices: {
      json::array choices;
      for (const std::string_view choice : key.choices) choices.emplace_back(choice);
      return {{"type", "array"}, {"items", {{"enum", choices}}}};
    }
    case KeyType::group:
      return group_schema(key.keys);
    case KeyType::named:
      return map_of(group_schema(key.keys));
  }
  return {};
}

json::object properties(std::span<const Key> keys) {
  json::object result;
  for (const Key& key : keys) {
    json::object schema;
    schema["description"] = fmt::format(
        "{}.{}", key.words, key.fallback.empty() ? "" : fmt::format(" Default: {}.", key.fallback));
    for (auto& member : value_schema(key)) schema.insert(member);
    result[key.name] = schema;
    for (const std::string_view alias : key.aliases) {
      schema["description"] = fmt::format("The same as {}.", key.name);
      result[alias] = schema;
    }
  }
  return result;
}

json::object group_schema(std::span<const Key> keys) {
  return {{"type", "object"}, {"properties", properties(keys)}, {"additionalProperties", false}};
}

json::object server_schema() {
  json::array kinds;
  for (const char* key : {"command", "url", "cli"}) {
    json::array ways;
    ways.emplace_back(requires_key(key));
    for (const std::string_view alias : find_key(server_keys(), key)->aliases)
      ways.emplace_back(requires_key(alias));
    kinds.push_back(ways.size() == 1 ? ways.front() : json::value{{"anyOf", ways}});
  }
  return {{"type", "object"}, {"properties", properties(server_keys())}, {"oneOf", kinds}};
}

std::string type_text(const Key& key) {
  switch (key.type) {
    case KeyType::ignored:
      return "anything";
    case KeyType::flag:
      return "true or false";
    case KeyType::text:
      return "string";
    case KeyType::path:
      return "path";
    case KeyType::calls:
      return "`journal`, or a path";
    case KeyType::program:
      return "program";
    case KeyType::texts:
      return "list of strings";
    case KeyType::command:
      return "list: a program and its arguments";
    case KeyType::tool_texts:
    case KeyType::headers:
      return "object of strings";
    case KeyType::variables:
      return "object of strings or numbers";
    case KeyType::globs:
      return "list of globs, or `false`";
    case KeyType::replay:
      return "list of tools";
    case KeyType::tool_globs:
      return "list of patterns";
    case KeyType::answer_paths:
      return "list of paths";
    case KeyType::patterns:
      return "list of regular expressions";
    case KeyType::tool_names:
      return "object of names";
    case KeyType::time:
      return "time";
    case KeyType::bytes:
      return "size";
    case KeyType::count:
      return fmt::format("number, {} to {}", key.least, key.most);
    case KeyType::choice:
    case KeyType::choices: {
      std::string text(key.type == KeyType::choices ? "list of " : "");
      const char* separator = "";
      for (const std::string_view choice : key.choices)
        text += fmt::format("{}`{}`", std::exchange(separator, ", "), choice);
      return text;
    }
    case KeyType::group:
      return "object";
    case KeyType::named:
      return "object of objects";
  }
  return "";
}

std::string kinds_text(Kinds kinds) {
  if (kinds == for_all) return "all";
  std::string text;
  for (const auto& [bit, name] : {std::pair{for_stdio, "command"}, {for_http, "url"}, {for_cli, "cli"}})
    if ((kinds & bit) != 0) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", name);
  return text;
}

void add_rows(std::span<const Key> keys, const std::string& prefix, bool with_kinds, std::string& to) {
  for (const Key& key : keys) {
    const std::string kinds = with_kinds ? fmt::format(" {} |", kinds_text(key.kinds)) : "";
    to += fmt::format("| `{}{}` |{} {} | {} | {} |\n", prefix, key.name, kinds, type_text(key), key.fallback,
                      key.words);
    const std::string inner = fmt::format("{}{}", key.name, key.type == KeyType::named ? ".NAME" : "");
    add_rows(key.keys, fmt::format("{}{}.", prefix, inner), with_kinds, to);
  }
}

}  // namespace

std::string config_schema() {
  const json::value server{{"$ref", "#/definitions/server"}};
  json::object top = properties(file_keys());
  json::object containers;
  json::array either;
  for (const char* name : {"mcpServers", "servers"}) {
    containers[name] = map_of(server);
    either.emplace_back(requires_key(name));
  }
  for (const auto& member : top) containers.insert(member);
  const json::object schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                            {"title", "mcpivot"},
                            {"description",
                             "Servers behind mcpivot, by name, in \"mcpServers\" (or \"servers\", or the "
                             "file itself). Every string can contain ${NAME} and ${NAME:-default}."},
                            {"type", "object"},
                            {"if", {{"anyOf", either}}},
                            {"then", {{"properties", containers}}},
                            {"else", {{"properties", top}, {"additionalProperties", server}}},
                            {"definitions", {{"server", server_schema()}}}};
  std::string text;
  pretty(schema, 0, text);
  return text + "\n";
}

std::string key_reference() {
  std::string text =
      "Of a server:\n\n"
      "| key | for servers with | value | default | what it is |\n|---|---|---|---|---|\n";
  add_rows(server_keys(), "", true, text);
  text += "\nNext to the servers:\n\n| key | value | default | what it is |\n|---|---|---|---|\n";
  add_rows(file_keys(), "", false, text);
  return text;
}

}  // namespace mcpivot
