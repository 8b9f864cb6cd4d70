#include "front/request_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/text.h"
#include "base/utf8.h"
#include "link/mirrored_headers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::string_view sentinel_begin = "=?base64?";
constexpr std::string_view sentinel_end = "?=";

std::string missing(std::string_view name) {
  return fmt::format("Header mismatch: the {} header is missing", name);
}

std::string differs(std::string_view name, std::string_view header, std::string_view body) {
  return fmt::format("Header mismatch: {} header value '{}' does not match body value '{}'", name,
                     shown_text(header), shown_text(body));
}

std::string unreadable(std::string_view name) {
  return fmt::format("Header mismatch: the {} header can't be read", name);
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, trouble] = std::from_chars(text.data(), end, number);
  if (trouble != std::errc() || rest != end) return std::nullopt;
  return number;
}

// 42 and 42.0 are the same integer.
bool is_same(std::string_view header, std::string_view body, bool integer) {
  if (header == body || !integer) return header == body;
  const auto number = number_in(header);
  return number && number == number_in(body);
}

}  // namespace

bool accepts(std::string_view accept, std::string_view type) {
  const std::string all = lower(accept);
  return all.empty() || all.find(type) != std::string::npos || all.find("*/*") != std::string::npos;
}

std::optional<std::string> decoded_header(std::string_view value) {
  if (!std::ranges::all_of(value, [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); }))
    return std::nullopt;
  if (value.size() < sentinel_begin.size() + sentinel_end.size() || !value.starts_with(sentinel_begin) ||
      !value.ends_with(sentinel_end))
    return std::string(value);
  value.remove_prefix(sentinel_begin.size());
  value.remove_suffix(sentinel_end.size());
  // Base64 with + and /, padded.
  if (value.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && value.ends_with('='); ++padding) value.remove_suffix(1);
  if (value.find_first_of("-_") != std::string_view::npos) return std::nullopt;
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
  if (!decoded) return unreadable(name_header);
  if (*decoded != name) return differs(name_header, *decoded, name);
  return {};
}

std::string fault_in_arguments(const HttpAsk& ask, const Message& call, std::string_view tool) {
  const auto mirrored = mirrored_arguments(tool);
  if (!mirrored) return {};  // the schema is invalid: no client can know what the headers should be
  const std::string_view arguments = find_member(call.text(call.params), "arguments");
  for (const MirroredArgument& argument : *mirrored) {
    const auto given = mirrored_text(argument, arguments);
    if (!ask.has(argument.header)) {
      if (given) return missing(argument.header);
      continue;
    }
    const auto said = decoded_header(ask.header(argument.header));
    if (!said) return unreadable(argument.header);
    if (!given)
      return fmt::format("Header mismatch: there is an {} header, but no such argument", argument.header);
    if (!is_same(*said, *given, argument.integer)) return differs(argument.header, *said, *given);
  }
  return {};
}

}  // namespace mcpivot
