#include "mcp/era.h"

#include <fmt/format.h>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// A legacy client must give its name; a modern one need not.
constexpr std::string_view unnamed_client = R"({"name":"unknown","version":"0"})";

std::string_view or_else(std::string_view value, std::string_view otherwise) {
  return value.starts_with('{') ? value : otherwise;
}

// The tasks of 2025-11-25 are not part of the modern era, and those of its extension are not part of the
// legacy era.
std::string without_tasks(std::string_view capabilities) {
  std::string kept;
  JsonCursor cursor(capabilities);
  cursor.object([&](const JsonCursor::Key& key) {
    Span value;
    if (!cursor.value(value)) return false;
    if (unescape(key.text) != "tasks")
      kept += fmt::format(R"({}"{}":{})", kept.empty() ? "" : ",", key.text, value.of(capabilities));
    return true;
  });
  return "{" + kept + "}";
}

}  // namespace

std::string hello_of(std::string_view meta) {
  return fmt::format(R"({{"protocolVersion":{},"capabilities":{},"clientInfo":{}}})", latest_legacy_version,
                     or_else(find_member(meta, meta_key::client_capabilities), "{}"),
                     or_else(find_member(meta, meta_key::client_info), unnamed_client));
}

std::string meta_members(std::string_view hello, std::string_view level) {
  const std::string_view info = find_member(hello, "clientInfo");
  std::string members =
      fmt::format(R"("{}":{},"{}":{})", meta_key::version, modern_version, meta_key::client_capabilities,
                  without_tasks(or_else(find_member(hello, "capabilities"), "{}")));
  if (info.starts_with('{')) members += fmt::format(R"(,"{}":{})", meta_key::client_info, info);
  if (!level.empty()) members += fmt::format(R"(,"{}":{})", meta_key::log_level, level);
  return members;
}

std::string with_meta(std::string_view request, std::string_view members) {
  const auto message = read_message(request);
  if (!message || message->version) return std::string(request);
  return with_meta_members(*message, members);
}

std::string with_meta_members(const Message& message, std::string_view members) {
  const std::string_view raw = message.raw;
  const auto inserted = [&](Span object, std::string_view text) {
    return fmt::format("{}{}{}{}", raw.substr(0, object.begin + 1), text,
                       is_empty_container(object.of(raw)) ? "" : ",", raw.substr(object.begin + 1));
  };
  const auto replaced = [&](Span value, std::string_view text) {
    return fmt::format("{}{}{}", raw.substr(0, value.begin), text, raw.substr(value.end()));
  };
  if (message.text(message.meta).starts_with('{')) return inserted(message.meta, members);
  if (message.meta) return replaced(message.meta, fmt::format("{{{}}}", members));
  const std::string meta = fmt::format(R"("_meta":{{{}}})", members);
  if (message.text(message.params).starts_with('{')) return inserted(message.params, meta);
  if (message.params) return replaced(message.params, fmt::format("{{{}}}", meta));
  return fmt::format(R"({},"params":{{{}}}}})", raw.substr(0, raw.rfind('}')), meta);
}

std::string initialize_result_of(std::string_view discover_result, std::string_view version) {
  const std::string_view info = find_member(find_member(discover_result, "_meta"), meta_key::server_info);
  const std::string_view instructions = find_member(discover_result, "instructions");
  std::string result =
      fmt::format(R"({{"protocolVersion":{},"capabilities":{},"serverInfo":{})", version,
                  or_else(find_member(discover_result, "capabilities"), "{}"), or_else(info, unnamed_client));
  if (instructions.starts_with('"')) result += fmt::format(R"(,"instructions":{})", instructions);
  return result + "}";
}

std::string discover_result_of(std::string_view initialize_result) {
  const std::string_view info = find_member(initialize_result, "serverInfo");
  const std::string_view instructions = find_member(initialize_result, "instructions");
  std::string result =
      fmt::format(R"({{"resultType":"complete","supportedVersions":[{}],"capabilities":{})", modern_version,
                  without_tasks(or_else(find_member(initialize_result, "capabilities"), "{}")));
  if (instructions.starts_with('"')) result += fmt::format(R"(,"instructions":{})", instructions);
  if (info.starts_with('{')) result += fmt::format(R"(,"_meta":{{"{}":{}}})", meta_key::server_info, info);
  return result + R"(,"ttlMs":0,"cacheScope":"private"})";
}

std::string with_result_type(std::string_view answer) {
  const auto message = read_message(answer);
  if (!message || message->kind != Kind::result) return std::string(answer);
  const std::string_view result = message->text(message->result);
  if (!result.starts_with('{') || !find_member(result, "resultType").empty()) return std::string(answer);
  return fmt::format(R"({}"resultType":"complete"{}{})", answer.substr(0, message->result.begin + 1),
                     is_empty_container(result) ? "" : ",", answer.substr(message->result.begin + 1));
}

bool is_discover_result(std::string_view result) {
  return find_member(result, "supportedVersions").starts_with('[');
}

bool is_input_required(std::string_view result) {
  return same_id(find_member(result, "resultType"), R"("input_required")");
}

bool offers_modern(std::string_view discover_result) {
  const std::string_view versions = find_member(discover_result, "supportedVersions");
  if (!versions.starts_with('[')) return false;
  bool found = false;
  JsonCursor cursor(versions);
  cursor.array([&] {
    Span value;
    if (!cursor.value(value)) return false;
    found = found || same_id(value.of(versions), modern_version);
    return true;
  });
  return found;
}

}  // namespace mcpivot
