#include "mcp/initialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "mcp/era.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

// Those of the legacy era, as JSON text.
constexpr std::array<std::string_view, 4> versions{R"("2024-11-05")", R"("2025-03-26")", R"("2025-06-18")",
                                                   R"("2025-11-25")"};

// The members of an object as they are spelled, except those with one of these keys; then the given ones.
// Anything but an object counts as having no members.
std::string with_members(std::string_view object,
                         std::span<const std::pair<std::string_view, std::string>> members) {
  std::string text;
  auto add = [&](std::string_view key, std::string_view value) {
    text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", key, value);
  };
  JsonCursor cursor(object);
  if (object.starts_with('{')) {
    cursor.object([&](const JsonCursor::Key& key) {
      Span value;
      if (!cursor.value(value)) return false;
      const std::string name = unescape(key.text);
      if (std::ranges::find(members, name, [](const auto& member) { return member.first; }) == members.end())
        add(key.text, value.of(object));
      return true;
    });
  }
  for (const auto& [key, value] : members) add(key, value);
  return "{" + text + "}";
}

std::string widened(std::string_view capabilities) {
  using Members = std::vector<std::pair<std::string_view, std::string>>;
  const Members changes{{"listChanged", "true"}};
  const Members updates{{"subscribe", "true"}, {"listChanged", "true"}};
  auto part = [&](std::string_view name, const Members& members) {
    return std::pair{name, with_members(find_member(capabilities, name), members)};
  };
  const Members all{part("tools", changes), part("prompts", changes), part("resources", updates),
                    part("logging", {}), part("completions", {})};
  return with_members(capabilities, all);
}

}  // namespace

std::string widened_initialize_result(std::string_view server_result) {
  const std::string_view capabilities = find_member(server_result, "capabilities");
  if (capabilities.empty()) {
    const std::vector<std::pair<std::string_view, std::string>> added{{"capabilities", widened({})}};
    return with_members(server_result, added);
  }
  const auto begin = static_cast<std::size_t>(capabilities.data() - server_result.data());
  return fmt::format("{}{}{}", server_result.substr(0, begin), widened(capabilities),
                     server_result.substr(begin + capabilities.size()));
}

std::string_view agreed_version(std::string_view client_params) {
  const auto wanted = std::ranges::find(versions, find_member(client_params, "protocolVersion"));
  return wanted == versions.end() ? versions.back() : *wanted;
}

std::string gateway_initialize_result(std::string_view client_params, std::string_view instructions) {
  const std::string_view version = agreed_version(client_params);
  // Each tool declares whether it can run as a task; without this capability, clients wouldn't look.
  const std::string_view own =
      version == versions.back() ? R"({"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}})" : "{}";
  return fmt::format(
      R"({{"protocolVersion":{},"capabilities":{},"serverInfo":{{"name":"mcpivot","version":"{}"}},"instructions":{}}})",
      version, widened(own), MCPIVOT_VERSION, quote(instructions));
}

std::string all_versions(bool modern) {
  std::string list = modern ? std::string(modern_version) : std::string();
  for (auto version = versions.rbegin(); version != versions.rend(); ++version)
    list += fmt::format("{}{}", list.empty() ? "" : ",", *version);
  return "[" + list + "]";
}

// Our answer changes with the servers behind us, so it must not be cached.
std::string widened_discover_result(std::string_view server_result, bool modern) {
  const std::vector<std::pair<std::string_view, std::string>> changed{
      {"resultType", R"("complete")"},
      {"supportedVersions", all_versions(modern)},
      {"capabilities", widened(find_member(server_result, "capabilities"))},
      {"ttlMs", "0"},
      {"cacheScope", R"("private")"}};
  return with_members(server_result, changed);
}

std::string gateway_discover_result(std::string_view instructions, bool modern) {
  const std::string ours =
      fmt::format(R"({{"instructions":{},"_meta":{{"{}":{{"name":"mcpivot","version":"{}"}}}}}})",
                  quote(instructions), meta_key::server_info, MCPIVOT_VERSION);
  return widened_discover_result(ours, modern);
}

std::string own_hello() {
  return fmt::format(
      R"({{"protocolVersion":{},"capabilities":{{}},"clientInfo":{{"name":"mcpivot","version":"{}"}}}})",
      versions.back(), MCPIVOT_VERSION);
}

std::string with_version(std::string_view initialize_result, std::string_view version) {
  const std::vector<std::pair<std::string_view, std::string>> changed{
      {"protocolVersion", std::string(version)}};
  return with_members(initialize_result, changed);
}

std::string with_words(std::string_view initialize_result, std::string_view words) {
  const std::string_view theirs = find_member(initialize_result, "instructions");
  std::string text(words);
  if (theirs.starts_with('"')) text += "\n\n" + string_value(theirs);
  const std::vector<std::pair<std::string_view, std::string>> added{{"instructions", quote(text)}};
  return with_members(initialize_result, added);
}

bool is_protocol_version(std::string_view version) {
  return quote(version) == modern_version || std::ranges::find(versions, quote(version)) != versions.end();
}

namespace {

std::string server_info(std::string_view initialize_result, std::string_view key) {
  const std::string_view own = find_member(initialize_result, "serverInfo");
  const std::string_view info =
      own.empty() ? find_member(find_member(initialize_result, "_meta"), meta_key::server_info) : own;
  const std::string_view value = find_member(info, key);
  return value.starts_with('"') ? string_value(value) : std::string();
}

}  // namespace

std::string server_version(std::string_view initialize_result) {
  return server_info(initialize_result, "version");
}

std::string server_own_name(std::string_view initialize_result) {
  return server_info(initialize_result, "name");
}

bool has_capability(std::string_view initialize_result, std::string_view capability) {
  return !find_member(find_member(initialize_result, "capabilities"), capability).empty();
}

bool takes_subscriptions(std::string_view initialize_result) {
  const std::string_view resources = find_member(find_member(initialize_result, "capabilities"), "resources");
  return find_member(resources, "subscribe") == "true";
}

}  // namespace mcpivot
