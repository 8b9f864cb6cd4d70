#include "front/request_headers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"

namespace mcpivot {
namespace {

constexpr std::string_view sentinel_begin = "=?base64?";
constexpr std::string_view sentinel_end = "?=";

std::string missing(std::string_view name) {
  return fmt::format("Header mismatch: the {} header is missing", name);
}

std::string differs(std::string_view name, std::string_view header, std::string_view body) {
  return fmt::format("Header mismatch: {} header value '{}' does not match body value '{}'", name,
                     header.substr(0, 200), body.substr(0, 200));
}

}  // namespace

std::optional<std::string> decoded_header(std::string_view value) {
  if (!std::ranges::all_of(value, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); }))
    return std::nullopt;
  if (value.size() < sentinel_begin.size() + sentinel_end.size() || !value.starts_with(sentinel_begin) ||
      !value.ends_with(sentinel_end))
    return std::string(value);
  value.remove_prefix(sentinel_begin.size());
  value.remove_suffix(sentinel_end.size());
  // The alphabet with + and /, and perhaps padded.
  while (value.ends_with('=')) value.remove_suffix(1);
  std::string text(value);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return from_base64url(text);
}

std::string fault_in_headers(const HttpAsk& ask, const Message& request) {
  constexpr std::string_view version_header = "MCP-Protocol-Version";
  if (!ask.has(version_header)) return missing(version_header);
  const std::string version = string_value(request.text(request.version));
  if (request.version && ask.header(version_header) != version)
    return differs(version_header, ask.header(version_header), version);

  constexpr std::string_view method_header = "Mcp-Method";
  const std::string method = string_value(request.text(request.method));
  if (!ask.has(method_header)) return missing(method_header);
  if (ask.header(method_header) != method) return differs(method_header, ask.header(method_header), method);

  constexpr std::string_view name_header = "Mcp-Name";
  const bool has_name = request.known == Method::tools_call || request.known == Method::prompts_get;
  if (!has_name && request.known != Method::resources_read) return {};
  const std::string name = string_value(request.text(has_name ? request.name : request.uri));
  if (!ask.has(name_header)) return missing(name_header);
  const auto decoded = decoded_header(ask.header(name_header));
  if (!decoded) return fmt::format("Header mismatch: the {} header can't be read", name_header);
  if (*decoded != name) return differs(name_header, *decoded, name);
  return {};
}

}  // namespace mcpivot
