#include "clitools/arguments.h"

#include <algorithm>

#include "clitools/compact_json.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

Arguments::Arguments(std::string_view object) : object_(object.empty() ? "{}" : object) {
  JsonCursor cursor(object_);
  cursor.object([&](const JsonCursor::Key& key) {
    Span where;
    if (!cursor.value(where)) return false;
    std::string name = key.escaped ? unescape(key.text) : std::string(key.text);
    // If a name appears twice, the last one counts, as in most parsers.
    std::erase_if(values_, [&](const auto& value) { return value.first == name; });
    values_.emplace_back(std::move(name), where.of(object_));
    return true;
  });
}

std::string_view Arguments::find(std::string_view name) const {
  const auto found = std::ranges::find(values_, name, [](const auto& value) { return value.first; });
  return found == values_.end() || found->second == "null" ? std::string_view() : found->second;
}

std::string plain_text(std::string_view json) {
  return json.starts_with('"') ? unescape(json.substr(1, json.size() - 2)) : compact_json(json);
}

std::vector<std::string_view> elements_of(std::string_view array) {
  std::vector<std::string_view> elements;
  JsonCursor cursor(array);
  cursor.array([&] {
    Span where;
    if (!cursor.value(where)) return false;
    elements.push_back(where.of(array));
    return true;
  });
  return elements;
}

}  // namespace mcpivot
