// Access tokens that are JWTs (RFC 9068): taken apart, and their claims compared with what we expect. Whether
// the issuer signed one is checked with its keys (oauth/jwks.h).
//
// Ours rather than libjwt or jwt-cpp. Either would be one more package for every build, brings algorithms
// that must never be accepted here (`none`, HS256) and has to be told so, and leaves to its caller what most
// attacks are made of: claims that appear twice, `crit`, `typ`, the type of a key. What remains is the
// signature, which OpenSSL checks.
//
// Plain data. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// All that are accepted. Each has one kind of key.
enum class JwtAlgorithm : std::uint8_t { rs256, ps256, es256, es384, eddsa };

// Nothing: it isn't accepted.
std::optional<JwtAlgorithm> jwt_algorithm(std::string_view name);

struct Jwt {
  static constexpr std::size_t longest = 16 * 1024;
  static constexpr std::size_t longest_kid = 256;
  static constexpr std::size_t longest_subject = 255;  // as in OpenID Connect

  JwtAlgorithm algorithm{};
  std::string kid;        // names the key; empty: it doesn't say
  std::string content;    // that is signed
  std::string signature;  // as bytes

  // What it claims. Worth nothing before the signature has been verified, but enough to refuse it.
  std::string issuer;
  std::string subject;  // visible ASCII characters, with spaces only between them
  std::vector<std::string> audiences;
  std::vector<std::string> scopes;
  std::chrono::sys_seconds expires{};
  std::optional<std::chrono::sys_seconds> not_before{};
  std::optional<std::chrono::sys_seconds> issued{};
};

// The error says what is wrong with the token, in words that fit into a header and quote nothing of it.
std::expected<Jwt, std::string_view> read_jwt(std::string_view token);

struct JwtRules {
  std::string issuer;
  std::string audience;
  std::chrono::seconds leeway{60};  // by which clocks may differ
};

// What is wrong with its claims; nothing: all of them are as they should be.
std::optional<std::string_view> fault_in_claims(const Jwt& token, const JwtRules& rules,
                                                std::chrono::sys_seconds now);

}  // namespace mcpivot
