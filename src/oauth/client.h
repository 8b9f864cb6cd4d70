// How mcpivot identifies itself to an issuer: as a client that the user registered there, as one that
// describes itself at a URL, or as one that registers itself (RFC 7591); and how it proves that at the token
// endpoint.
//
// What one issuer gave is never shown to another: a registration belongs to the issuer in its record.
//
// Plain data. Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "oauth/fetch.h"
#include "oauth/metadata.h"

namespace mcpivot {

// What the user configured; all of it may be empty.
struct ClientConfig {
  std::string id{};
  std::string secret{};
  std::string metadata_url{};       // an https:// URL that stands for us
  std::string scopes{};             // to ask for, instead of those that the server wants
  std::uint16_t redirect_port = 0;  // 0: one that depends on the server's address
  bool operator==(const ClientConfig&) const = default;
};

struct OauthClient {
  std::string id{};
  std::string secret{};        // empty: a public client
  std::string auth_method{};   // at the token endpoint; empty: the best that the issuer takes
  std::string redirect_uri{};  // that it was registered with; empty: it wasn't registered by us
};

// The client that needs no registration at this issuer, if there is one.
std::optional<OauthClient> configured_client(const ClientConfig& config, const IssuerMetadata& issuer);

// Names no scopes: issuers reject scopes that they don't list themselves.
FetchRequest registration_request(const Url& endpoint, const std::string& redirect_uri);
std::expected<OauthClient, std::string> parse_registration(const FetchAnswer& answer,
                                                           const std::string& redirect_uri);

struct GrantedTokens {
  std::string access{};
  std::string refresh{};     // empty: none
  std::int64_t expires = 0;  // in seconds since 1970; 0: unknown
  std::string scope{};       // granted; empty: what was asked for
  std::string who{};         // if the token says so; for people to read, and proves nothing
};

FetchRequest exchange_request(const OauthClient& client, const IssuerMetadata& issuer,
                              const std::string& code, const std::string& redirect_uri,
                              const std::string& verifier, const std::string& resource);
FetchRequest refresh_request(const OauthClient& client, const IssuerMetadata& issuer,
                             const std::string& refresh_token, const std::string& resource);

struct TokenRefusal {
  std::string error{};  // "invalid_grant"; empty: it said nothing of use
  std::string text{};   // for people, without any secret
};
// `sent`: the secrets in the request, which the answer may repeat.
std::expected<GrantedTokens, TokenRefusal> parse_tokens(const FetchAnswer& answer, std::int64_t now,
                                                        const std::vector<std::string>& sent);

}  // namespace mcpivot
