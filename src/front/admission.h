// Who may come in over HTTP, decided by the head of a request alone: is it meant for us (`Host`), may the web
// page that sends it do so (`Origin`), and whose is it (`Authorization`).
//
// Fails closed. Plain data, one thread.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "front/http_message.h"
#include "front/listen_address.h"
#include "front/tokens.h"
#include "front/trusted_proxies.h"

namespace mcpivot {

struct AdmissionRules {
  std::vector<ListenAddress> listens;
  std::vector<std::string> hosts;    // --allow-host: names without ports
  std::vector<std::string> origins;  // --allow-origin: "https://example.com", or "*"
  std::string public_url;            // --public-url: how clients call us
  TrustedProxies proxies;            // --trusted-proxy: whose word about the client counts
  std::optional<Tokens> tokens;      // none: whoever reaches us may come in
};

// Who a request is from.
struct Visitor {
  std::string principal;  // empty: nobody in particular
  std::string profile;    // that its token is bound to; empty: none
  std::string token;      // names the token's line; empty: it has none
};

class Admission {
 public:
  explicit Admission(AdmissionRules rules);

  // The error is the answer.
  std::expected<Visitor, HttpAnswer> admit(const HttpAsk& ask) const;
  // Headers that let a web page read an answer; none if no page sends the request.
  std::string page_headers(const HttpAsk& ask) const;
  // The answer to a browser that asks whether a page may send a request.
  HttpAnswer preflight(const HttpAsk& ask) const;

  // Where it comes from: the peer's address, or what a proxy that we trust says instead.
  std::string address_of(const HttpAsk& ask) const { return rules_.proxies.caller(ask).address; }

  // The file of tokens is another one.
  void use(Tokens tokens) { rules_.tokens = std::move(tokens); }
  bool has_token(std::string_view id) const { return rules_.tokens && rules_.tokens->has(id); }
  // Whether any token lets this one in.
  bool lets_in(const Visitor& who) const {
    return !rules_.tokens || rules_.tokens->lets_in(who.principal, who.profile);
  }

 private:
  bool is_our_host(const HttpAsk& ask, const Caller& caller) const;
  bool is_our_page(const HttpAsk& ask, const Caller& caller) const;
  bool is_our_name(std::string_view name) const;

  AdmissionRules rules_;
};

}  // namespace mcpivot
