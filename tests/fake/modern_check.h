// What a modern MCP server over HTTP must check before it serves a request: that the headers match the
// body. The fake daemon rejects what mcpivot gets wrong.
#pragma once

#include <boost/beast/core/detail/base64.hpp>
#include <boost/json.hpp>
#include <functional>
#include <string>

namespace fake {

namespace json = boost::json;

constexpr const char* modern_version = "2026-07-28";
constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";
constexpr const char* capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* subscription_key = "io.modelcontextprotocol/subscriptionId";

// A header by its name; empty if there is none.
using Header = std::function<std::string(const std::string& name)>;

struct Fault {
  int status = 0;  // of HTTP; 0: everything is valid
  int code = 0;
  std::string words;
};

inline const json::value* member(const json::value* object, std::string_view key) {
  return object != nullptr && object->is_object() ? object->get_object().if_contains(key) : nullptr;
}

inline const json::value* meta_of(const json::object& message) {
  return member(message.if_contains("params"), "_meta");
}

inline bool is_modern(const json::object& message) {
  return member(meta_of(message), version_key) != nullptr;
}

inline std::string decoded(const std::string& value) {
  if (!value.starts_with("=?base64?") || !value.ends_with("?=")) return value;
  const std::string text = value.substr(9, value.size() - 11);
  namespace base64 = boost::beast::detail::base64;
  std::string bytes(base64::decoded_size(text.size()), '\0');
  bytes.resize(base64::decode(bytes.data(), text.data(), text.size()).first);
  return bytes;
}

inline Fault mismatch(const std::string& words) {
  return {400, -32020, "Header mismatch: " + words};
}

// The arguments that the schema marks, and whether their headers match.
inline Fault params_fault(const Header& header, const json::value& schema, const json::value* arguments) {
  const json::value* properties = member(&schema, "properties");
  if (properties == nullptr) return {};
  for (const auto& [key, property] : properties->as_object()) {
    const json::value* value = member(arguments, key);
    if (const Fault fault = params_fault(header, property, value); fault.status != 0) return fault;
    const json::value* mark = member(&property, "x-mcp-header");
    if (mark == nullptr) continue;
    const std::string name = "Mcp-Param-" + json::value_to<std::string>(*mark);
    const std::string said = decoded(header(name));
    std::string meant;
    if (value != nullptr && value->is_string()) meant = json::value_to<std::string>(*value);
    if (value != nullptr && !value->is_string() && !value->is_null()) meant = json::serialize(*value);
    if (said != meant) return mismatch(name + " is '" + said + "', the body has '" + meant + "'");
  }
  return {};
}

// `tools` are the definitions that were listed.
inline Fault modern_fault(const Header& header, const json::object& message, const json::array& tools) {
  if (!header("Mcp-Session-Id").empty()) return {400, -32600, "there are no sessions"};
  if (!header("Last-Event-ID").empty()) return {400, -32600, "nothing can be resumed"};
  const std::string accept = header("Accept");
  if (accept.find("application/json") == std::string::npos ||
      accept.find("text/event-stream") == std::string::npos)
    return {406, -32600, "Accept must name both kinds of answers"};
  if (!message.contains("method")) return {400, -32600, "a client answers nothing here"};
  const std::string version = header("MCP-Protocol-Version");
  if (version.empty()) return mismatch("MCP-Protocol-Version is missing");
  const std::string method = json::value_to<std::string>(message.at("method"));
  if (header("Mcp-Method") != method) return mismatch("Mcp-Method is '" + header("Mcp-Method") + "'");
  if (!message.contains("id")) return {};
  const json::value* named = member(meta_of(message), version_key);
  if (named == nullptr || !named->is_string()) return {400, -32602, "_meta names no protocol version"};
  if (*named != json::value(version)) return mismatch("MCP-Protocol-Version is '" + version + "'");
  if (version != modern_version) return {400, -32022, "Unsupported protocol version"};
  if (member(meta_of(message), capabilities_key) == nullptr)
    return {400, -32602, "_meta names no capabilities"};
  const json::value* params = message.if_contains("params");
  const bool by_uri = method == "resources/read";
  if (!by_uri && method != "tools/call" && method != "prompts/get") return {};
  const json::value* name = member(params, by_uri ? "uri" : "name");
  if (name == nullptr || !name->is_string()) return {400, -32602, "nothing is named"};
  if (header("Mcp-Name").empty() || json::value(decoded(header("Mcp-Name"))) != *name)
    return mismatch("Mcp-Name is '" + header("Mcp-Name") + "', the body has " + json::serialize(*name));
  if (method != "tools/call") return {};
  for (const json::value& tool : tools)
    if (tool.at("name") == *name)
      return params_fault(header, tool.at("inputSchema"), member(params, "arguments"));
  return {};
}

}  // namespace fake
