#include "front/protected_resource.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::string_view well_known = "/.well-known/oauth-protected-resource";
constexpr std::string_view own_endpoint = "/mcp";
constexpr std::size_t longest_name = 128;

// No other names appear in our URLs.
bool is_profile_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

// What is behind the endpoint in a path: "/work" → "work"; nothing: it is another one.
std::optional<std::string> name_behind(std::string_view path, std::string_view endpoint) {
  if (!path.starts_with(endpoint)) return std::nullopt;
  path.remove_prefix(endpoint.size());
  if (path.empty()) return std::string();
  if (path.front() != '/' || !is_profile_name(path.substr(1))) return std::nullopt;
  return std::string(path.substr(1));
}

// Of the endpoint that a public URL names.
std::string path_in(const std::string& public_url) {
  const auto url = parse_url(public_url);
  if (!url) return std::string(own_endpoint);
  std::string path = url->target.substr(0, url->target.find('?'));
  while (path.ends_with('/')) path.pop_back();
  return path.empty() ? std::string(own_endpoint) : path;
}

}  // namespace

std::optional<std::string> ProtectedResource::profile_in(std::string_view path) const {
  if (!path.starts_with(well_known)) return std::nullopt;
  path.remove_prefix(well_known.size());
  if (path.empty() || path == "/") return std::string();
  if (auto name = name_behind(path, own_endpoint)) return name;
  return public_url.empty() ? std::nullopt : name_behind(path, path_in(public_url));
}

std::string ProtectedResource::origin(const std::string& asked) const {
  const auto url = parse_url(public_url);
  return url ? url->origin() : asked;
}

std::string ProtectedResource::endpoint(std::string_view profile) const {
  const std::string path = public_url.empty() ? std::string(own_endpoint) : path_in(public_url);
  return is_profile_name(profile) ? fmt::format("{}/{}", path, profile) : path;
}

std::string ProtectedResource::metadata_url(const std::string& asked, std::string_view profile) const {
  return fmt::format("{}{}{}", origin(asked), well_known, endpoint(profile));
}

// Clients ask the issuer for a token for the resource, and we want our audience in it. One that isn't a URL
// is something that only the issuer knows: then the resource is the address that the client asked.
std::string ProtectedResource::metadata(const std::string& asked, std::string_view profile,
                                        std::span<const std::string> scopes) const {
  const std::string resource = parse_url(audience) ? audience : origin(asked) + endpoint(profile);
  std::string list;
  for (const std::string& scope : scopes) list += (list.empty() ? "" : ",") + quote(scope);
  // RFC 9728: a list without elements is left out.
  if (!list.empty()) list = fmt::format(R"("scopes_supported":[{}],)", list);
  return fmt::format(R"({{"resource":{},"authorization_servers":[{}],{})"
                     R"("bearer_methods_supported":["header"],"resource_name":"mcpivot"}})",
                     quote(resource), quote(issuer), list);
}

std::string header_of(const SentChallenge& challenge) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("{}{}=\"{}\"", text.empty() ? " " : ", ", name, value);
  };
  add("error", challenge.error);
  add("error_description", challenge.words);
  add("scope", challenge.scope);
  add("resource_metadata", challenge.metadata_url);
  return fmt::format("WWW-Authenticate: Bearer{}\r\n", text);
}

std::string scope_text(std::span<const std::string> scopes) {
  return fmt::format("{}", fmt::join(scopes, " "));
}

}  // namespace mcpivot
