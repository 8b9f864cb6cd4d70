#include "install/import_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/url.h"
#include "config/config_file.h"

namespace mcpivot {
namespace {

using Kind = JsoncValue::Kind;

constexpr std::array<std::string_view, 7> sign_in_keys{
    "oauth", "auth", "authProviderType", "scopes", "oauth_resource", "headersHelper", "http_headers_helper"};

bool is_name_begin(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name(char c) {
  return is_name_begin(c) || (c >= '0' && c <= '9');
}

std::string text_of(const JsoncValue& entry, std::string_view key) {
  const JsoncValue* value = entry.find(key);
  return value != nullptr && value->kind == Kind::string ? value->text : std::string();
}

std::string url_of(const JsoncValue& entry) {
  for (const std::string_view key : {"url", "httpUrl", "serverUrl"})
    if (std::string url = text_of(entry, key); !url.empty()) return url;
  return {};
}

bool has_members(const JsoncValue& entry, std::string_view key) {
  const JsoncValue* value = entry.find(key);
  return value != nullptr && !value->members.empty();
}

bool is_local(const std::string& url) {
  const auto parsed = parse_url(url);
  return parsed && (parsed->host == "localhost" || parsed->host == "::1" || parsed->host == "[::1]" ||
                    parsed->host.starts_with("127."));
}

template <class Visit>
void each_string(JsoncValue& value, const Visit& visit) {
  if (value.kind == Kind::string) visit(value.text);
  for (JsoncValue& element : value.elements) each_string(element, visit);
  for (JsoncMember& member : value.members) each_string(member.value, visit);
}

bool mentions(const JsoncValue& value, std::string_view part) {
  if (value.kind == Kind::string && value.text.contains(part)) return true;
  return std::ranges::any_of(value.elements, [&](const JsoncValue& one) { return mentions(one, part); }) ||
         std::ranges::any_of(value.members,
                             [&](const JsoncMember& one) { return mentions(one.value, part); });
}

// A path relative to where the client was started.
bool is_relative(const std::string& path) {
  return path.contains('/') && !path.starts_with('/') && !path.starts_with("~/") && !path.starts_with("${");
}

// Text that the client takes literally must stay literal for mcpivot.
void keep_dollars(std::string& text) {
  for (auto at = text.find("${"); at != std::string::npos; at = text.find("${", at + 3)) text.insert(at, "$");
}
// $NAME becomes ${NAME}.
void add_braces(std::string& text) {
  for (auto at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
    if (at + 1 >= text.size() || !is_name_begin(text[at + 1])) continue;
    std::size_t end = at + 1;
    while (end < text.size() && is_name(text[end])) ++end;
    text.insert(end, "}").insert(at + 1, "{");
  }
}

JsoncValue& member_of(JsoncValue& object, std::string_view key, Kind kind) {
  const auto found = std::ranges::find(object.members, key, &JsoncMember::key);
  if (found != object.members.end()) return found->value;
  JsoncMember& added = object.members.emplace_back();
  added.key = key;
  added.value.kind = kind;
  return added.value;
}

// Removes a member; nothing: there was none.
std::optional<JsoncValue> take(JsoncValue& object, std::string_view key) {
  const auto found = std::ranges::find(object.members, key, &JsoncMember::key);
  if (found == object.members.end()) return std::nullopt;
  JsoncValue value = std::move(found->value);
  object.members.erase(found);
  return value;
}

void move_time(JsoncValue& entry, std::string_view from, std::string_view to, std::string_view unit) {
  auto time = take(entry, from);
  if (!time || time->kind != Kind::number) return;
  // Fractions of a second are for the other unit.
  member_of(member_of(entry, "timeouts", Kind::object), to, Kind::string) =
      json_string(time->text.substr(0, time->text.find('.')) + std::string(unit));
}

void move_tools(JsoncValue& entry, std::string_view from, std::string_view to) {
  auto names = take(entry, from);
  if (!names || names->kind != Kind::array) return;
  member_of(member_of(entry, "tools", Kind::object), to, Kind::array) = std::move(*names);
}

void convert_gemini(JsoncValue& entry, Imported& imported) {
  for (const char* key : {"trust", "description", "extension"})
    if (take(entry, key)) imported.left_out.emplace_back(key);
  move_tools(entry, "includeTools", "allow");
  move_tools(entry, "excludeTools", "deny");
}

void convert_codex(JsoncValue& entry, Imported& imported) {
  // Codex's own approvals; the word means something else here.
  if (take(entry, "tools")) imported.left_out.emplace_back("tools");
  auto variable = [&](const std::string& name) {
    imported.variables.push_back(name);
    return json_string("${" + name + "}");
  };
  auto headers = [&]() -> JsoncValue& { return member_of(entry, "headers", Kind::object); };
  if (auto fixed = take(entry, "http_headers"); fixed && fixed->kind == Kind::object)
    headers() = std::move(*fixed);
  if (const auto named = take(entry, "env_http_headers"))
    for (const JsoncMember& header : named->members)
      headers().members.push_back({.key = header.key, .value = variable(header.value.text)});
  if (const auto token = take(entry, "bearer_token_env_var"); token && token->kind == Kind::string) {
    JsoncValue bearer = variable(token->text);
    bearer.text.insert(0, "Bearer ");
    headers().members.push_back({.key = "Authorization", .value = std::move(bearer)});
  }
  if (const auto passed = take(entry, "env_vars"))
    for (const JsoncValue& name : passed->elements)
      if (name.kind == Kind::string) imported.variables.push_back(name.text);
  move_time(entry, "startup_timeout_sec", "start", "s");
  move_time(entry, "startup_timeout_ms", "start", "ms");
  move_time(entry, "tool_timeout_sec", "call", "s");
  move_tools(entry, "enabled_tools", "allow");
  move_tools(entry, "disabled_tools", "deny");
  if (const auto enabled = take(entry, "enabled");
      enabled && enabled->kind == Kind::boolean && !enabled->boolean) {
    JsoncValue& disabled = member_of(entry, "disabled", Kind::boolean);
    disabled.boolean = true;
  }
  for (const char* key : {"required", "supports_parallel_tool_calls", "default_tools_approval_mode",
                          "experimental_environment"})
    if (take(entry, key)) imported.left_out.emplace_back(key);
}

}  // namespace

bool same_server(const JsoncValue& one, const JsoncValue& other) {
  auto plain = [](JsoncValue entry) {
    std::erase_if(entry.members, [](const JsoncMember& member) {
      const bool empty = (member.value.kind == Kind::object && member.value.members.empty()) ||
                         (member.value.kind == Kind::array && member.value.elements.empty());
      return (member.key == "type" && member.value.text == "stdio") ||
             (empty && (member.key == "env" || member.key == "args" || member.key == "headers"));
    });
    return entry;
  };
  return same_value(plain(one), plain(other));
}

bool runs_mcpivot(const JsoncValue& entry) {
  return std::filesystem::path(text_of(entry, "command")).filename() == "mcpivot";
}

std::expected<Imported, std::string> import_server(const Client& client, Scope scope,
                                                   const ClientServer& server, const std::string& folder) {
  if (!server.fixed.empty()) return std::unexpected(server.fixed);
  if (server.value.kind != Kind::object) return std::unexpected("its entry isn't an object");
  if (runs_mcpivot(server.value)) return std::unexpected("it runs mcpivot already");
  if (mentions(server.value, "${input:"))
    return std::unexpected("the client asks you for one of its values (${input:...}), which mcpivot can't");
  const std::string url = url_of(server.value);
  for (const std::string_view key : sign_in_keys)
    if (!url.empty() && server.value.find(key) != nullptr)
      return std::unexpected(fmt::format("the client itself signs in to it (\"{}\")", key));

  Imported imported;
  JsoncValue entry = server.value;
  if (client.filling == Filling::none) each_string(entry, keep_dollars);
  if (client.filling == Filling::braces_and_dollar) each_string(entry, add_braces);
  if (client.name == "gemini") convert_gemini(entry, imported);
  if (client.name == "codex") convert_codex(entry, imported);
  if (client.name == "claude" || client.name == "gemini") move_time(entry, "timeout", "call", "ms");

  if (!url.empty() && !is_local(url) && !has_members(entry, "headers"))
    return std::unexpected(
        "it is remote and has no headers of its own, so the client signs in to it (OAuth)");
  if (scope == Scope::user) {
    if (mentions(entry, "${workspaceFolder"))
      return std::unexpected("it depends on the folder that the client has open (${workspaceFolder})");
    for (const char* key : {"command", "cwd", "envFile"})
      if (const std::string path = text_of(entry, key); is_relative(path))
        return std::unexpected(
            fmt::format("\"{}\" is relative to where the client is started: {}", key, path));
  }
  imported.as_spelled = client.format == FileFormat::json && same_value(entry, server.value);
  imported.text = imported.as_spelled ? server.text : json_text(entry);

  JsoncValue list;
  list.kind = Kind::object;
  list.members.push_back({.key = server.name, .value = entry});
  const auto loaded = read_config(fmt::format("{{\"mcpServers\": {}}}", json_text(list)), folder,
                                  [](const char*) { return "x"; });
  for (const Problem& problem : loaded.problems)
    if (problem.severity == Problem::Severity::error)
      return std::unexpected("mcpivot cannot run it: " + problem.words);
  return imported;
}

}  // namespace mcpivot
