#include "install/config_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace mcpivot {
namespace {

using Kind = JsoncValue::Kind;
using std::string;

// Where the servers are in mcpivot's configuration: in a member of their own or, in a bare map, at the
// outermost level. Nothing: there is no such place yet.
std::optional<JsonPath> list_in_config(const JsoncValue& root) {
  auto is_map = [](const JsoncValue& value) {
    return value.kind == Kind::object && std::ranges::all_of(value.members, [](const JsoncMember& member) {
             return member.value.kind == Kind::object;
           });
  };
  for (const char* key : {"mcpServers", "servers"})
    if (const JsoncValue* list = root.find(key); list != nullptr && is_map(*list)) return JsonPath{key};
  const bool bare = std::ranges::any_of(
      root.members, [](const JsoncMember& member) { return member.value.kind == Kind::object; });
  if (bare) return JsonPath{};
  return std::nullopt;
}

}  // namespace

std::unexpected<string> broken(const string& file, const string& words) {
  return std::unexpected(
      fmt::format("{}: {}\nThe file was left unchanged. Fix it and try again.", file, words));
}

std::expected<ConfigText, string> ConfigText::open(const string& file, string text) {
  const auto root = parse_jsonc(text);
  if (!root)
    return broken(file, fmt::format("line {}, column {}: {}", root.error().place.line,
                                    root.error().place.column, root.error().words));
  if (root->kind != Kind::object) return broken(file, "it isn't an object with \"mcpServers\" in it");
  if (!list_in_config(*root)) {
    auto with_list = insert_member(text, {}, "mcpServers", "{}", JsonLayout::as_is);
    if (!with_list) return broken(file, with_list.error());
    text = std::move(*with_list);
  }
  return ConfigText(std::move(text));
}

std::optional<JsoncValue> ConfigText::find(const string& name) const {
  const auto root = parse_jsonc(text_);
  JsonPath path = list_in_config(*root).value_or(JsonPath());
  path.push_back(name);
  const JsoncValue* value = find_value(*root, path);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::vector<string> ConfigText::names() const {
  const auto root = parse_jsonc(text_);
  const JsonPath path = list_in_config(*root).value_or(JsonPath());
  const JsoncValue* list = path.empty() ? &*root : find_value(*root, path);
  std::vector<string> names;
  for (const JsoncMember& member : list->members)
    if (member.value.kind == Kind::object) names.push_back(member.key);
  return names;
}

std::expected<void, string> ConfigText::add(const string& name, const Imported& server) {
  return take(insert_member(text_, path(), name, server.text,
                            server.as_spelled ? JsonLayout::as_is : JsonLayout::fitting));
}

std::expected<void, string> ConfigText::remove(const string& name) {
  return take(remove_member(text_, path(), name));
}

JsonPath ConfigText::path() const {
  return list_in_config(*parse_jsonc(text_)).value_or(JsonPath());
}

std::expected<void, string> ConfigText::take(EditedText edited) {
  if (!edited) return std::unexpected(edited.error());
  text_ = std::move(*edited);
  return {};
}

}  // namespace mcpivot
