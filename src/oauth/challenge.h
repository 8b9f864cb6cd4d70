// What a server says with the header WWW-Authenticate when it turns a request away: which authorization it
// wants, and where to read about it (RFC 9110, RFC 6750, RFC 9728).
//
// Plain data. Any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace mcpivot {

using Scopes = std::set<std::string, std::less<>>;

// "a b", and back.
Scopes parse_scopes(std::string_view text);
std::string scopes_text(const Scopes& scopes);

struct Challenge {
  bool bearer = false;            // it asks for a token at all
  std::string resource_metadata;  // a URL
  Scopes scopes;
  std::string error;  // "insufficient_scope"

  bool wants_more_scope() const { return error == "insufficient_scope"; }
};

// The first Bearer challenge of the header, which may have several; an empty one if there is none.
Challenge parse_challenge(std::string_view header);

}  // namespace mcpivot
