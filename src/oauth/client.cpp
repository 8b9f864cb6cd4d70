#include "oauth/client.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "base/utf8.h"
#include "oauth/form.h"
#include "oauth/json_document.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_text = 200;
constexpr std::size_t longest_token = 16 * 1024;

// Another party's text, made safe for a message.
std::string shown(std::string_view text) {
  return shown_text(text, longest_text);
}

std::string without(std::string text, const std::string& secret) {
  constexpr std::string_view instead = "(secret)";
  if (secret.empty()) return text;
  for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += instead.size())
    text.replace(at, secret.size(), instead);
  return text;
}

std::string without(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets)
    text = without(without(std::move(text), secret), percent_encoded(secret));
  return text;
}

// "invalid_grant: the token was revoked", or the status. `sent`: the secrets in the request.
std::string refusal_text(const FetchAnswer& answer, const std::optional<JsonDocument>& document,
                         const std::vector<std::string>& sent = {}) {
  std::string text = document ? shown(without(document->text("error"), sent)) : std::string();
  const std::string more =
      document ? shown(without(document->text("error_description"), sent)) : std::string();
  if (!text.empty() && !more.empty()) text += ": ";
  text += more;
  return text.empty() ? fmt::format("it answered {}", answer.status) : text;
}

std::string base64(std::string_view text) {
  std::string result(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(result.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  result.resize(static_cast<std::size_t>(size));
  return result;
}

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

std::string auth_method(const OauthClient& client, const IssuerMetadata& issuer) {
  if (!client.auth_method.empty()) return client.auth_method;
  if (client.secret.empty()) return "none";
  const auto& methods = issuer.token_auth_methods;
  const bool post = contains(methods, "client_secret_post") && !contains(methods, "client_secret_basic");
  return post ? "client_secret_post" : "client_secret_basic";
}

FetchRequest token_request(const OauthClient& client, const IssuerMetadata& issuer, FormFields fields) {
  FetchRequest request{.url = parse_url(issuer.token_endpoint).value_or(Url{}),
                       .method = "POST",
                       .content_type = "application/x-www-form-urlencoded"};
  const std::string method = auth_method(client, issuer);
  if (method == "client_secret_basic") {
    request.headers = fmt::format("Authorization: Basic {}\r\n",
                                  base64(percent_encoded(client.id) + ":" + percent_encoded(client.secret)));
  } else {
    fields.emplace_back("client_id", client.id);
    if (method == "client_secret_post") fields.emplace_back("client_secret", client.secret);
  }
  request.body = form_text(fields);
  return request;
}

// A token goes into a header: text that can't be in a header isn't a token.
bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= longest_token &&
         std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

// Of a JWT, without checking who signed it.
std::string who_is_in(std::string_view token) {
  const auto first = token.find('.');
  const auto second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos) return {};
  const auto payload = from_base64url(token.substr(first + 1, second - first - 1));
  const auto claims = payload ? JsonDocument::parse(*payload) : std::nullopt;
  if (!claims) return {};
  for (const char* name : {"email", "preferred_username", "name", "sub"})
    if (const std::string found = shown(claims->text(name)); !found.empty()) return found;
  return {};
}

}  // namespace

std::optional<OauthClient> configured_client(const ClientConfig& config, const IssuerMetadata& issuer) {
  if (!config.id.empty()) return OauthClient{.id = config.id, .secret = config.secret};
  if (!config.metadata_url.empty() && issuer.takes_metadata_urls)
    return OauthClient{.id = config.metadata_url, .auth_method = "none"};
  return {};
}

FetchRequest registration_request(const Url& endpoint, const std::string& redirect_uri) {
  const json::object wanted{
      {"client_name", "mcpivot"},        {"application_type", "native"},
      {"redirect_uris", {redirect_uri}}, {"grant_types", {"authorization_code", "refresh_token"}},
      {"response_types", {"code"}},      {"token_endpoint_auth_method", "none"}};
  return {
      .url = endpoint, .method = "POST", .content_type = "application/json", .body = json::serialize(wanted)};
}

std::expected<OauthClient, std::string> parse_registration(const FetchAnswer& answer,
                                                           const std::string& redirect_uri) {
  const auto document = JsonDocument::parse(answer.body);
  if (!answer.ok()) return std::unexpected(refusal_text(answer, document));
  OauthClient client{.id = document ? document->text("client_id") : std::string(),
                     .secret = document ? document->text("client_secret") : std::string(),
                     .auth_method = document ? document->text("token_endpoint_auth_method") : std::string(),
                     .redirect_uri = redirect_uri};
  if (client.id.empty()) return std::unexpected("its answer names no client_id");
  if (client.secret.empty()) client.auth_method = "none";
  return client;
}

FetchRequest exchange_request(const OauthClient& client, const IssuerMetadata& issuer,
                              const std::string& code, const std::string& redirect_uri,
                              const std::string& verifier, const std::string& resource) {
  return token_request(client, issuer,
                       {{"grant_type", "authorization_code"},
                        {"code", code},
                        {"redirect_uri", redirect_uri},
                        {"code_verifier", verifier},
                        {"resource", resource}});
}

FetchRequest refresh_request(const OauthClient& client, const IssuerMetadata& issuer,
                             const std::string& refresh_token, const std::string& resource) {
  return token_request(
      client, issuer,
      {{"grant_type", "refresh_token"}, {"refresh_token", refresh_token}, {"resource", resource}});
}

std::expected<GrantedTokens, TokenRefusal> parse_tokens(const FetchAnswer& answer, std::int64_t now,
                                                        const std::vector<std::string>& sent) {
  const auto document = JsonDocument::parse(answer.body);
  if (!answer.ok())
    return std::unexpected(TokenRefusal{.error = document ? document->text("error") : std::string(),
                                        .text = refusal_text(answer, document, sent)});
  GrantedTokens tokens{.access = document ? document->text("access_token") : std::string(),
                       .refresh = document ? document->text("refresh_token") : std::string(),
                       .scope = document ? document->text("scope") : std::string()};
  if (!is_token(tokens.access))
    return std::unexpected(TokenRefusal{.error = {}, .text = "its answer has no usable access token"});
  if (lower(document->text("token_type")) != "bearer")
    return std::unexpected(TokenRefusal{.error = {}, .text = "the token it issued isn't a bearer token"});
  constexpr std::int64_t longest = 10LL * 365 * 24 * 3600;
  if (const auto seconds = document->number("expires_in"); seconds && *seconds >= 0)
    tokens.expires = now + std::min(*seconds, longest);
  tokens.who = who_is_in(document->text("id_token"));
  if (tokens.who.empty()) tokens.who = who_is_in(tokens.access);
  return tokens;
}

}  // namespace mcpivot
