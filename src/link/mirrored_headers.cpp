#include "link/mirrored_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>

#include "base/text.h"
#include "mcp/era.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::string_view annotation = "x-mcp-header";
constexpr std::string_view sentinel_begin = "=?base64?";
constexpr std::string_view sentinel_end = "?=";
// Numbers beyond this are read differently by different JSON parsers.
constexpr double largest_integer = 9'007'199'254'740'991;

// Where else a schema contains schemas: an annotation there is an error.
constexpr std::array<std::string_view, 17> keywords_with_schemas{"items",
                                                                 "prefixItems",
                                                                 "contains",
                                                                 "additionalItems",
                                                                 "additionalProperties",
                                                                 "unevaluatedItems",
                                                                 "unevaluatedProperties",
                                                                 "propertyNames",
                                                                 "contentSchema",
                                                                 "oneOf",
                                                                 "anyOf",
                                                                 "allOf",
                                                                 "not",
                                                                 "if",
                                                                 "then",
                                                                 "else",
                                                                 "dependencies"};
constexpr std::array<std::string_view, 4> keywords_with_named_schemas{"patternProperties", "dependentSchemas",
                                                                      "$defs", "definitions"};

bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

bool is_plain(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  return !text.empty() && !blank(text.front()) && !blank(text.back()) &&
         std::ranges::all_of(text, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); });
}

// Walks through a tool's schema once.
class SchemaScan {
 public:
  std::vector<MirroredArgument> found;

  // What is wrong; empty: nothing.
  std::string visit(const json::value& schema, bool reachable) {
    const json::object* const object = schema.if_object();
    if (object == nullptr) return {};
    if (const json::value* const name = object->if_contains(annotation)) {
      if (std::string fault = take(*object, *name, reachable); !fault.empty()) return fault;
    }
    if (const json::value* const properties = object->if_contains("properties")) {
      if (const json::object* const named = properties->if_object()) {
        for (const auto& [key, property] : *named) {
          path_.emplace_back(key);
          std::string fault = visit(property, reachable);
          path_.pop_back();
          if (!fault.empty()) return fault;
        }
      }
    }
    for (const std::string_view keyword : keywords_with_schemas)
      if (std::string fault = visit_others(*object, keyword, false); !fault.empty()) return fault;
    for (const std::string_view keyword : keywords_with_named_schemas)
      if (std::string fault = visit_others(*object, keyword, true); !fault.empty()) return fault;
    return {};
  }

 private:
  std::string visit_others(const json::object& schema, std::string_view keyword, bool named) {
    const json::value* const value = schema.if_contains(keyword);
    if (value == nullptr) return {};
    if (const json::array* const several = value->if_array()) {
      for (const json::value& one : *several)
        if (std::string fault = visit(one, false); !fault.empty()) return fault;
    } else if (named && value->is_object()) {
      for (const auto& [key, one] : value->get_object())
        if (std::string fault = visit(one, false); !fault.empty()) return fault;
    } else {
      return visit(*value, false);
    }
    return {};
  }

  std::string take(const json::object& schema, const json::value& name, bool reachable) {
    if (!reachable || path_.empty())
      return fmt::format("{} is only allowed on properties that `properties` alone leads to", annotation);
    const std::string_view header =
        name.is_string() ? std::string_view(name.get_string()) : std::string_view();
    if (!is_token(header))
      return fmt::format("the {} of \"{}\" isn't the name of a header", annotation, path_.back());
    const json::value* const type = schema.if_contains("type");
    if (type == nullptr || (*type != "string" && *type != "integer" && *type != "boolean"))
      return fmt::format("\"{}\" has an {} but isn't a string, an integer or a boolean", path_.back(),
                         annotation);
    if (!names_.insert(lower(header)).second)
      return fmt::format("the {} \"{}\" appears twice", annotation, header);
    found.push_back({path_, "Mcp-Param-" + std::string(header), *type == "integer"});
    return {};
  }

  std::vector<std::string> path_;
  std::set<std::string> names_;
};

// An argument as text; nothing for what has no header: null, objects, arrays, numbers without a safe value.
std::string text_of(std::string_view value) {
  if (value == "true" || value == "false") return std::string(value);
  double number = 0;
  const auto [end, trouble] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (trouble != std::errc() || end != value.data() + value.size()) return {};
  if (number != std::floor(number)) return std::string(value);  // the server will refuse it
  if (std::abs(number) > largest_integer) return {};
  return std::to_string(static_cast<std::int64_t>(number));
}

void add(std::string& lines, std::string_view name, std::string_view value) {
  lines.append(name).append(": ").append(value).append("\r\n");
}

// What a request's Mcp-Name repeats. tasks/* methods are those of the Tasks extension.
std::string_view name_in(const Message& message, std::string_view method) {
  if (message.known == Method::tools_call || message.known == Method::prompts_get)
    return message.text(message.name);
  if (message.known == Method::resources_read) return message.text(message.uri);
  if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel")
    return find_member(message.text(message.params), "taskId");
  return {};
}

}  // namespace

std::expected<std::vector<MirroredArgument>, std::string> mirrored_arguments(std::string_view tool) {
  if (tool.find(annotation) == std::string_view::npos) return {};
  json::parse_options options;
  options.max_depth = JsonCursor::max_depth;
  boost::system::error_code trouble;
  const std::string_view text = find_member(tool, "inputSchema");
  const json::value schema = json::parse({text.data(), text.size()}, trouble, {}, options);
  if (trouble) return std::unexpected("its schema can't be read: " + trouble.message());
  SchemaScan scan;
  if (std::string fault = scan.visit(schema, true); !fault.empty()) return std::unexpected(std::move(fault));
  return std::move(scan.found);
}

std::optional<std::string> mirrored_text(const MirroredArgument& argument, std::string_view arguments) {
  std::string_view value = arguments;
  for (const std::string& key : argument.path) value = find_member(value, key);
  if (value.starts_with('"')) return string_value(value);
  std::string text = text_of(value);
  if (text.empty()) return std::nullopt;
  return text;
}

std::string header_value(std::string_view text) {
  const bool ambiguous = text.starts_with(sentinel_begin) && text.ends_with(sentinel_end);
  if (is_plain(text) && !ambiguous) return std::string(text);
  namespace base64 = boost::beast::detail::base64;
  std::string encoded(base64::encoded_size(text.size()), '\0');
  encoded.resize(base64::encode(encoded.data(), text.data(), text.size()));
  return fmt::format("{}{}{}", sentinel_begin, encoded, sentinel_end);
}

void MirroredHeaders::learn(std::vector<Item>& tools, const OnRejected& on_rejected) {
  tools_.clear();
  std::erase_if(tools, [&](const Item& tool) {
    auto arguments = mirrored_arguments(tool.json);
    if (!arguments) {
      on_rejected(tool.key, arguments.error());
      return true;
    }
    if (!arguments->empty()) tools_[tool.key] = std::move(*arguments);
    return false;
  });
}

std::string MirroredHeaders::of(const Message& message) const {
  std::string lines;
  const std::string version = string_value(message.text(message.version));
  add(lines, "MCP-Protocol-Version", is_plain(version) ? version : string_value(modern_version));
  const std::string method = string_value(message.text(message.method));
  if (is_plain(method)) add(lines, "Mcp-Method", method);
  if (message.kind != Kind::request) return lines;
  const std::string_view named = name_in(message, method);
  if (!named.starts_with('"')) return lines;
  const std::string name = string_value(named);
  add(lines, "Mcp-Name", header_value(name));
  if (message.known != Method::tools_call || tools_.empty()) return lines;
  const auto tool = tools_.find(name);
  if (tool == tools_.end()) return lines;
  const std::string_view arguments = find_member(message.text(message.params), "arguments");
  for (const MirroredArgument& argument : tool->second) {
    if (const auto text = mirrored_text(argument, arguments))
      add(lines, argument.header, header_value(*text));
  }
  return lines;
}

}  // namespace mcpivot
