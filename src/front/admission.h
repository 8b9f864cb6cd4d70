// Who may connect over HTTP, decided by the head of a request alone: is it meant for us (`Host`), may the web
// page that sends it do so (`Origin`), and whose is it (`Authorization`).
//
// A token is one of --token-file or one of --oauth-issuer; with both, either kind is enough. Fails closed.
// One thread.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "front/access_tokens.h"
#include "front/http_message.h"
#include "front/listen_address.h"
#include "front/protected_resource.h"
#include "front/tokens.h"
#include "front/trusted_proxies.h"

namespace mcpivot {

struct AdmissionRules {
  std::vector<ListenAddress> listens;
  std::vector<std::string> hosts;         // --allow-host: names without ports
  std::vector<std::string> origins;       // --allow-origin: "https://example.com", or "*"
  std::string public_url;                 // --public-url: the URL that clients use
  TrustedProxies proxies;                 // --trusted-proxy: who is believed about the client
  std::optional<Tokens> tokens;           // if there are neither these
  std::shared_ptr<AccessTokens> oauth{};  // nor this: anybody who can connect is let in
};

// Who a request is from.
struct Visitor {
  std::string principal;  // empty: anonymous
  std::string profile;    // that its token is bound to; empty: none
  std::string token;      // identifies the token's line; empty: it has none
  // Of a token of --oauth-issuer.
  bool by_oauth = false;
  std::vector<std::string> scopes{};
  std::chrono::sys_seconds until{};  // when it ends
};

// The answer to a request that isn't let in.
struct Rejection : HttpAnswer {
  bool keys_come = false;  // they are being fetched: a client that can wait may ask again then
  std::string_view why{};  // for the log: nothing of the token
};

class Admission {
 public:
  explicit Admission(AdmissionRules rules);

  // The error is the HTTP answer. It says where to get a token, for this profile with these scopes.
  std::expected<Visitor, Rejection> admit(const HttpAsk& ask, std::string_view profile = {},
                                          std::span<const std::string> scopes = {}) const;
  // The profile that is asked for with a request for our metadata; nothing: the request is for something
  // else.
  std::optional<std::string> metadata_profile(std::string_view path) const;
  HttpAnswer metadata(const HttpAsk& ask, std::string_view profile,
                      std::span<const std::string> scopes) const;
  // The answer to a token that isn't good for this profile, which needs these scopes.
  HttpAnswer insufficient(const HttpAsk& ask, std::string_view profile,
                          std::span<const std::string> scopes) const;
  // Headers that let a web page read an answer; none if the request isn't from a page.
  std::string page_headers(const HttpAsk& ask) const;
  // The answer to a browser that asks whether a page may send a request.
  HttpAnswer preflight(const HttpAsk& ask) const;

  // Where it comes from: the peer's address, or what a trusted proxy says instead.
  std::string address_of(const HttpAsk& ask) const { return rules_.proxies.caller(ask).address; }

  // The token file has changed.
  void use(Tokens tokens) { rules_.tokens = std::move(tokens); }
  bool has_token(std::string_view id) const { return rules_.tokens && rules_.tokens->has(id); }
  // Whether any token admits this visitor.
  bool lets_in(const Visitor& who) const {
    return !rules_.tokens || rules_.tokens->lets_in(who.principal, who.profile);
  }

 private:
  // The answer to what isn't meant for us, or comes from a page that may not send it.
  std::optional<HttpAnswer> misdirected(const HttpAsk& ask) const;
  Rejection unauthorized(const HttpAsk& ask, SentChallenge challenge, std::string_view profile) const;
  std::string metadata_url(const HttpAsk& ask, std::string_view profile) const;
  bool is_our_host(const HttpAsk& ask, const Caller& caller) const;
  bool is_our_page(const HttpAsk& ask, const Caller& caller) const;
  bool is_our_name(std::string_view name) const;

  AdmissionRules rules_;
  std::optional<ProtectedResource> resource_;
};

}  // namespace mcpivot
