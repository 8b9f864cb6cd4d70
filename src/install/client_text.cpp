#include "install/client_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "install/toml_edit.h"

namespace mcpivot {
namespace {

using Kind = JsoncValue::Kind;

bool is_empty(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}
JsonPath list_path(const Client& client) {
  return {std::string(client.key)};
}

std::expected<std::vector<ClientServer>, std::string> json_servers(const Client& client,
                                                                   std::string_view text) {
  const auto root = parse_jsonc(text);
  if (!root)
    return std::unexpected(fmt::format("line {}, column {}: {}", root.error().place.line,
                                       root.error().place.column, root.error().words));
  if (root->kind != Kind::object)
    return std::unexpected(
        fmt::format("line {}: expected an object, found {}", root->place.line, kind_text(root->kind)));
  if (std::ranges::count(root->members, client.key, &JsoncMember::key) > 1)
    return std::unexpected(fmt::format("\"{}\" appears twice; keep one", client.key));
  std::vector<ClientServer> servers;
  const JsoncValue* list = root->find(client.key);
  if (list == nullptr) return servers;
  if (list->kind != Kind::object)
    return std::unexpected(fmt::format("line {}: \"{}\" is {}, not an object", list->place.line, client.key,
                                       kind_text(list->kind)));
  std::unordered_set<std::string_view> names;
  for (const JsoncMember& member : list->members) {
    const JsoncPlace& place = member.value.place;
    if (!names.insert(member.key).second)
      return std::unexpected(fmt::format("line {}: \"{}\" appears twice in \"{}\"; keep one",
                                         member.place.line, member.key, client.key));
    servers.push_back(
        {member.key, member.value, std::string(text.substr(place.begin, place.end - place.begin)), {}});
  }
  return servers;
}

// Only what mcpivot itself writes: strings and lists of strings.
std::string toml_tables(const Client& client, std::string_view name, const JsoncValue& value,
                        std::string_view newline) {
  std::string text = fmt::format("[{}.{}]", client.key, toml_key(name));
  for (const JsoncMember& member : value.members) {
    text += fmt::format("{}{} = ", newline, toml_key(member.key));
    if (member.value.kind == Kind::string) text += toml_string(member.value.text);
    if (member.value.kind != Kind::array) continue;
    std::string list;
    for (const JsoncValue& element : member.value.elements)
      list += (list.empty() ? "" : ", ") + toml_string(element.text);
    text += "[" + list + "]";
  }
  return text;
}

EditedText with_json_server(const Client& client, std::string_view text, std::string_view name,
                            std::string_view value, JsonLayout layout) {
  const JsonPath path = list_path(client);
  std::string edited(is_empty(text) ? "{}\n" : text);
  if (!has_list(client, edited)) {
    auto with_list = insert_member(edited, {}, client.key, "{}", JsonLayout::as_is);
    if (!with_list) return with_list;
    edited = std::move(*with_list);
  }
  const auto servers = json_servers(client, edited);
  if (!servers) return std::unexpected(servers.error());
  const bool there = std::ranges::find(*servers, name, &ClientServer::name) != servers->end();
  return there ? replace_member(edited, path, name, value, layout)
               : insert_member(edited, path, name, value, layout);
}

}  // namespace

std::expected<std::vector<ClientServer>, std::string> servers_in(const Client& client,
                                                                 std::string_view text) {
  if (is_empty(text)) return {};
  if (client.format == FileFormat::json) return json_servers(client, text);
  auto tables = toml_servers(text, client.key);
  if (!tables) return std::unexpected(tables.error());
  std::vector<ClientServer> servers;
  for (TomlServer& table : *tables)
    servers.push_back({table.name, std::move(table.value), std::move(table.text), std::move(table.fixed)});
  return servers;
}

bool has_list(const Client& client, std::string_view text) {
  if (client.format == FileFormat::toml) return true;
  const auto root = parse_jsonc(text);
  return root && root->find(client.key) != nullptr;
}

EditedText with_server(const Client& client, std::string_view text, std::string_view name,
                       const JsoncValue& value) {
  if (client.format == FileFormat::json)
    return with_json_server(client, text, name, json_text(value), JsonLayout::fitting);
  return with_server_as_spelled(client, text, name,
                                toml_tables(client, name, value, text.contains("\r\n") ? "\r\n" : "\n"));
}

EditedText with_server_as_spelled(const Client& client, std::string_view text, std::string_view name,
                                  std::string_view spelling) {
  if (client.format == FileFormat::json)
    return with_json_server(client, text, name, spelling, JsonLayout::as_is);
  const auto servers = toml_servers(text, client.key);
  if (!servers) return std::unexpected(servers.error());
  std::string edited(text);
  if (std::ranges::find(*servers, name, &TomlServer::name) != servers->end()) {
    auto without = remove_toml_server(text, client.key, name);
    if (!without) return without;
    edited = std::move(*without);
  }
  return append_toml(edited, spelling);
}

EditedText without_server(const Client& client, std::string_view text, std::string_view name) {
  return client.format == FileFormat::json ? remove_member(text, list_path(client), name)
                                           : remove_toml_server(text, client.key, name);
}

EditedText without_empty_list(const Client& client, std::string_view text) {
  if (client.format == FileFormat::toml) return std::string(text);
  const auto root = parse_jsonc(text);
  const JsoncValue* list = root ? root->find(client.key) : nullptr;
  if (list == nullptr || list->kind != Kind::object || !list->members.empty()) return std::string(text);
  return remove_member(text, {}, client.key);
}

}  // namespace mcpivot
