#include "oauth/metadata.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "link/proxy.h"
#include "oauth/json_document.h"

namespace mcpivot {
namespace {

std::string path_of(const Url& url) {
  std::string path = url.target.substr(0, url.target.find('?'));
  while (path.ends_with('/')) path.pop_back();
  return path;
}

Scopes as_set(std::vector<std::string> texts) {
  return {std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end())};
}

// It is the server itself, or something on the same origin that contains it.
bool speaks_for(const Url& resource, const Url& server) {
  if (!resource.same_origin(server)) return false;
  const std::string whole = path_of(resource);
  const std::string part = path_of(server);
  return part.starts_with(whole) && (part.size() == whole.size() || part[whole.size()] == '/');
}

// Codes and tokens are sent there: never unencrypted, except on this machine.
bool is_safe(const std::string& endpoint) {
  const auto url = parse_url(endpoint);
  return url && (url->tls || is_loopback(url->host));
}

// The address that a browser takes this host for, without asking anybody: "127.1" and "0x7f000001" are
// written as numbers, too.
std::optional<boost::asio::ip::address> literal_address(std::string host) {
  if (host.ends_with('.')) host.pop_back();
  if (is_loopback(host)) return boost::asio::ip::address_v4::loopback();
  if (in_addr v4{}; ::inet_aton(host.c_str(), &v4) != 0) return boost::asio::ip::address_v4(ntohl(v4.s_addr));
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  return error ? std::nullopt : std::optional(address);
}

}  // namespace

std::vector<std::string> resource_metadata_places(const Url& server, const std::string& named) {
  if (!named.empty()) return {named};
  const std::string root = server.origin() + "/.well-known/oauth-protected-resource";
  const std::string path = path_of(server);
  return path.empty() ? std::vector{root} : std::vector{root + path, root};
}

std::string canonical_resource(const Url& server) {
  return server.origin() + path_of(server);
}

std::expected<ResourceMetadata, std::string> parse_resource_metadata(std::string_view json,
                                                                     const Url& server) {
  const auto document = JsonDocument::parse(json);
  if (!document) return std::unexpected("its protected resource metadata isn't a JSON object");
  ResourceMetadata metadata{.resource = document->text("resource"),
                            .issuers = document->texts("authorization_servers"),
                            .scopes = as_set(document->texts("scopes_supported"))};
  if (metadata.resource.empty()) metadata.resource = canonical_resource(server);
  const auto resource = parse_url(metadata.resource);
  if (!resource || !speaks_for(*resource, server))
    return std::unexpected(fmt::format("its protected resource metadata is for another server: {}",
                                       resource ? resource->shown() : "(not a URL)"));
  if (metadata.issuers.empty())
    return std::unexpected("its protected resource metadata names no authorization server");
  return metadata;
}

std::vector<std::string> issuer_metadata_places(const Url& issuer) {
  const std::string path = path_of(issuer);
  const std::string known = issuer.origin() + "/.well-known/";
  if (path.empty()) return {known + "oauth-authorization-server", known + "openid-configuration"};
  return {known + "oauth-authorization-server" + path, known + "openid-configuration" + path,
          issuer.origin() + path + "/.well-known/openid-configuration"};
}

std::expected<IssuerMetadata, std::string> parse_issuer_metadata(std::string_view json,
                                                                 const std::string& issuer) {
  const auto document = JsonDocument::parse(json);
  if (!document) return std::unexpected("it isn't a JSON object");
  IssuerMetadata metadata{.issuer = document->text("issuer"),
                          .authorization_endpoint = document->text("authorization_endpoint"),
                          .token_endpoint = document->text("token_endpoint"),
                          .registration_endpoint = document->text("registration_endpoint"),
                          .token_auth_methods = document->texts("token_endpoint_auth_methods_supported"),
                          .scopes = as_set(document->texts("scopes_supported")),
                          .takes_metadata_urls = document->flag("client_id_metadata_document_supported"),
                          .sends_issuer = document->flag("authorization_response_iss_parameter_supported")};
  if (metadata.issuer != issuer)
    return std::unexpected(
        fmt::format("it speaks for another issuer ({})", shown_text(metadata.issuer, 200)));
  if (metadata.authorization_endpoint.empty() || metadata.token_endpoint.empty())
    return std::unexpected("it names no authorization or token endpoint");
  for (const std::string* endpoint :
       {&metadata.authorization_endpoint, &metadata.token_endpoint, &metadata.registration_endpoint})
    if (!endpoint->empty() && !is_safe(*endpoint))
      return std::unexpected(
          fmt::format("its endpoint {} isn't an https:// address", shown_text(*endpoint, 200)));
  const auto methods = document->texts("code_challenge_methods_supported");
  if (std::ranges::find(methods, "S256") == methods.end())
    return std::unexpected(
        "it doesn't announce PKCE with S256 (code_challenge_methods_supported), without which a code could "
        "be "
        "stolen");
  return metadata;
}

std::string fault_in_page(const std::string& endpoint, const AddressRule& allowed) {
  const auto url = parse_url(endpoint);
  if (!url) return url.error();
  const auto address = literal_address(url->host);
  if (!address || allowed.allows(kind_of(*address))) return {};
  return fmt::format("its sign-in page is at {}, {}, where the server itself isn't", url->host,
                     name_of(kind_of(*address)));
}

}  // namespace mcpivot
