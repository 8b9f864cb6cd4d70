// Who may come in over HTTP with a token of an authorization server (--oauth-issuer): mcpivot as a resource
// server of OAuth. Tokens are JWTs for our audience (oauth/jwt.h), signed with a key of the issuer's
// (front/issuer_keys.h).
//
// Remembers for a while which tokens were good, so that a client that sends many requests is checked once:
// under their SHA-256, and only with the keys that they were verified with.
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "front/issuer_keys.h"
#include "oauth/jwt.h"

namespace mcpivot {

class AccessTokens {
 public:
  static constexpr std::size_t longest_issuer = 200;

  // A valid token.
  struct Holder {
    std::string principal;  // issuer and subject; never a name that a line of --token-file could have
    std::vector<std::string> scopes;
    std::chrono::sys_seconds until;  // it is accepted
  };
  struct Refusal {
    enum class Kind : std::uint8_t {
      bad_token,
      keys_come,  // ask again when the issuer's keys have arrived
      no_keys,
    } kind;
    std::string_view words;  // for a header: nothing of the token
  };

  // The keys are fetched as `get` says.
  AccessTokens(Timers& timers, JwtRules rules, IssuerKeys::Get get);

  std::expected<Holder, Refusal> check(std::string_view token, std::chrono::sys_seconds now);
  void fetch_keys() { keys_.fetch(); }
  // `told` is called whenever a fetch of the keys has ended, successfully or not.
  void on_keys(std::function<void()> told) { keys_.on_ended(std::move(told)); }
  // How many tokens were good, and haven't expired since.
  std::size_t remembered() const { return good_.size(); }
  std::chrono::seconds retry_after() const { return keys_.retry_after(); }

  const std::string& issuer() const { return rules_.issuer; }
  const std::string& audience() const { return rules_.audience; }

 private:
  void remember(std::string hash, Holder holder);
  void forget_first();

  JwtRules rules_;
  IssuerKeys keys_;
  std::uint64_t edition_ = 0;  // of the keys that verified the tokens below
  std::unordered_map<std::string, Holder> good_;
  std::set<std::pair<std::chrono::sys_seconds, std::string>> ends_;  // of those
};

// Why this can't be --oauth-issuer; empty: it can.
std::string fault_in_issuer(std::string_view url);
// Why this can't be --audience; empty: it can.
std::string fault_in_audience(std::string_view uri);

}  // namespace mcpivot
