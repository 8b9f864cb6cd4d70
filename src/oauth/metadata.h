// The two documents that tell where to sign in: the one of the server (RFC 9728) names its authorization
// servers, and the one of such an issuer (RFC 8414, OpenID Connect Discovery) names its endpoints.
//
// Both come from another party, and are trusted only as far as they fit the URL that they were fetched from:
// a server speaks only for its own origin, and an issuer's name is compared letter by letter.
//
// Plain data. Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/url.h"
#include "link/address_rule.h"
#include "oauth/challenge.h"

namespace mcpivot {

struct ResourceMetadata {
  std::string resource;              // what tokens are to be asked for
  std::vector<std::string> issuers;  // at least one
  Scopes scopes;
};

// Where the document of this server may be, best first. `named` is the URL of its challenge, or empty.
std::vector<std::string> resource_metadata_places(const Url& server, const std::string& named);
// What the server is called if its document doesn't say so: its address without a query or a bare slash.
std::string canonical_resource(const Url& server);
// The error says why it can't be used for this server.
std::expected<ResourceMetadata, std::string> parse_resource_metadata(std::string_view json,
                                                                     const Url& server);

struct IssuerMetadata {
  std::string issuer{};
  std::string authorization_endpoint{};
  std::string token_endpoint{};
  std::string registration_endpoint{};            // empty: none
  std::vector<std::string> token_auth_methods{};  // none: only "client_secret_basic", says the RFC
  Scopes scopes{};
  bool takes_metadata_urls = false;  // as client ids
  bool sends_issuer = false;         // with each redirect (RFC 9207)
};

// Where the document of this issuer may be, in the order of the MCP specification.
std::vector<std::string> issuer_metadata_places(const Url& issuer);
// The error says why it can't be used: another issuer, no S256, no endpoints, or endpoints that aren't https.
std::expected<IssuerMetadata, std::string> parse_issuer_metadata(std::string_view json,
                                                                 const std::string& issuer);
// Why a browser shouldn't go to this endpoint; empty: it may. Where a name leads to we can't check.
std::string fault_in_page(const std::string& endpoint, const AddressRule& allowed);

}  // namespace mcpivot
