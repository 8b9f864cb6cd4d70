// Gives an HTTP link its token, and is told when the server wants another one. oauth/ implements it, for
// servers whose credentials the user hasn't configured.
//
// A request that was turned away for its credentials had no effect, so it can be sent again.
//
// One thread.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "link/address_rule.h"

namespace mcpivot {

class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // For the header Authorization: Bearer; empty: there is none yet.
  virtual const std::string& token() = 0;

  struct Rejection {
    int status = 0;
    std::string challenge{};               // WWW-Authenticate
    std::string token{};                   // that the request had
    std::optional<AddressKind> address{};  // where the server is; nothing: a proxy knows
  };
  // Whether another token could help.
  virtual bool concerns(const Rejection& rejection) const = 0;
  struct Refusal {
    std::string words;  // "the server wants you to sign in: …"; empty: the server's own words stand
  };
  using Then = std::function<void(std::expected<void, Refusal>)>;
  // `then` is called once, later, from the event loop: there is another token, or why not. It waits a while
  // for a user who signs in, but not forever.
  virtual void rejected(const Rejection& rejection, Then then) = 0;
  // The server took a request with this token.
  virtual void accepted(const std::string& token) = 0;
};

}  // namespace mcpivot
