#include "cli/tool_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/colours.h"
#include "cli/schema_words.h"
#include "cli/status_table.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr int deepest_shown = 3;  // arguments within arguments
constexpr std::size_t widest_name = 24;
constexpr std::size_t least_text = 30;

std::string without_newlines(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

bool is_required(const json::object& schema, std::string_view key) {
  const json::value* required = schema.if_contains("required");
  return required != nullptr && required->is_array() &&
         std::ranges::find(required->get_array(), json::value(key)) != required->get_array().end();
}

struct Argument {
  std::string name;
  std::string type;
  std::string text;
};

// Zod writes the limits of JavaScript's exact integers into the schema of every integer.
bool is_any_integer(const json::value& limit) {
  constexpr double most = 9007199254740991;
  return limit.is_number() && std::abs(limit.to_number<double>()) == most;
}

std::string limits_in(const json::object& property) {
  std::string text;
  for (const auto& [key, words] : {std::pair{"minimum", "at least"}, {"maximum", "at most"}})
    if (const json::value* limit = property.if_contains(key);
        limit != nullptr && limit->is_number() && !is_any_integer(*limit))
      text += fmt::format(", {} {}", words, json::serialize(*limit));
  if (const json::value* usual = property.if_contains("default"))
    text += fmt::format(", default {}", json::serialize(*usual));
  return text;
}

void collect(const json::object& schema, const json::object& root, int depth, std::vector<Argument>& found) {
  const json::object* properties = properties_of(schema);
  if (properties == nullptr || depth >= deepest_shown) return;
  for (const auto& [key, value] : *properties) {
    const json::value& property = resolved(value, root);
    const json::object none;
    const json::object& described = property.is_object() ? property.get_object() : none;
    std::string about = string_in(described, "description");
    // A description may be given next to a reference.
    if (value.is_object() && !string_in(value.get_object(), "description").empty())
      about = string_in(value.get_object(), "description");
    found.push_back({.name = std::string(2 * static_cast<std::size_t>(depth), ' ') + std::string(key),
                     .type = type_text(value, root) + (is_required(schema, key) ? ", required" : "") +
                             limits_in(described),
                     .text = without_newlines(about)});
    const json::value* items = described.if_contains("items");
    const json::value& inner = items == nullptr ? property : resolved(*items, root);
    if (inner.is_object()) collect(inner.get_object(), root, depth + 1, found);
  }
}

// Wrapped between words; continuation lines are indented.
std::string wrapped(const std::string& text, std::size_t indent, std::optional<std::size_t> width) {
  const std::size_t room = width && *width > indent + least_text ? *width - indent : least_text;
  if (!width || columns_of(text) <= room) return text;
  std::string lines;
  std::size_t used = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (used > 0 && used + 1 + columns_of(word) > room) {
      lines += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += columns_of(word);
    begin = end + 1;
  }
  return lines;
}

std::string argument_lines(const std::vector<Argument>& arguments, std::optional<std::size_t> width) {
  std::size_t column = 0;
  for (const Argument& one : arguments) column = std::max(column, columns_of(one.name));
  column = std::min(column, widest_name) + 2;
  std::string text;
  for (const Argument& one : arguments) {
    const std::size_t padding = column - std::min(column - 2, columns_of(one.name));
    text += "  " + coloured("1", one.name) + std::string(padding, ' ') +
            wrapped(one.type, column + 2, width) + "\n";
    if (!one.text.empty())
      text += std::string(column + 2, ' ') + coloured("2", wrapped(one.text, column + 2, width)) + "\n";
  }
  return text;
}

// What a call does, as far as the server says so.
std::string effects(const json::object& tool) {
  const json::value* annotations = tool.if_contains("annotations");
  if (annotations == nullptr || !annotations->is_object()) return {};
  auto says = [&](const char* key, bool what) {
    const json::value* value = annotations->get_object().if_contains(key);
    return value != nullptr && *value == json::value(what);
  };
  std::string text;
  auto add = [&](bool is, const char* words) {
    if (is) text += fmt::format("{}{}", text.empty() ? "" : ", ", words);
  };
  add(says("readOnlyHint", true), "reads only");
  add(says("destructiveHint", true), "may destroy data");
  add(says("idempotentHint", true), "can be repeated safely");
  add(says("openWorldHint", true), "reaches beyond this machine");
  return text;
}

std::string example(const std::string& name, const json::object& schema, const json::object& root) {
  std::string line = "mcpivot call " + name;
  const json::object* properties = properties_of(schema);
  if (properties == nullptr) return line;
  for (const auto& [key, property] : *properties) {
    if (!is_required(schema, key)) continue;
    const auto types = types_of(property, root);
    const std::string_view value = types.contains("string")                                ? "TEXT"
                                   : types.contains("array")                               ? "'[…]'"
                                   : types.contains("object")                              ? "'{…}'"
                                   : types.contains("boolean")                             ? "true"
                                   : types.contains("integer") || types.contains("number") ? "1"
                                                                                           : "VALUE";
    line += fmt::format(" {}={}", std::string_view(key), value);
  }
  return line;
}

}  // namespace

std::string tool_line(const json::object& tool) {
  const std::string description = string_in(tool, "description");
  return fmt::format("{}{}  {}\n", coloured("1", text_in(tool, "name")),
                     tool.at("active").as_bool() ? "" : " (inactive)",
                     description.substr(0, description.find('\n')));
}

std::string tool_help(const json::object& tool, std::optional<std::size_t> width) {
  const std::string name = text_in(tool, "name");
  std::string text = fmt::format("{}{}, a tool of {}\n", coloured("1", name),
                                 tool.at("active").as_bool() ? "" : " (inactive)", text_in(tool, "server"));
  if (const std::string title = string_in(tool, "title"); !title.empty()) text += title + "\n";
  if (const std::string about = string_in(tool, "description"); !about.empty())
    text += fmt::format("\n{}{}", about, about.ends_with('\n') ? "" : "\n");
  const json::value* input = tool.if_contains("inputSchema");
  const json::object none;
  const json::object& schema = input != nullptr && input->is_object() ? input->get_object() : none;
  std::vector<Argument> arguments;
  collect(schema, schema, 0, arguments);
  text +=
      arguments.empty() ? "\nIt takes no arguments.\n" : "\nArguments:\n" + argument_lines(arguments, width);
  if (const std::string says = effects(tool); !says.empty())
    text += fmt::format("\nThe server says: {}.\n", says);
  return text + fmt::format("\nTo call it: {}\n", example(name, schema, schema));
}

}  // namespace mcpivot
