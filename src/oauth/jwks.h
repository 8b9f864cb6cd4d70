// The keys that an issuer publishes (a JWK Set, RFC 7517), to verify what it signed.
//
// Only public keys that fit an accepted algorithm are kept: RSA of 2,048 to 4,096 bits, the curves P-256 and
// P-384, Ed25519. Others are left out, as the RFC wants it: a set may hold keys for purposes that aren't
// ours.
//
// Copies share their keys, which never change. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oauth/jwt.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace mcpivot {

class KeySet {
 public:
  static constexpr std::size_t longest = 256 * 1024;
  static constexpr std::size_t most_keys = 64;

  // The error says why the text isn't a set that anything can be verified with.
  static std::expected<KeySet, std::string> read(std::string_view json);

  enum class Finding : std::uint8_t {
    genuine,
    unknown_key,  // not signed with a key of this set, though perhaps with one that is new
    forged,
  };
  Finding verify(const Jwt& token) const;
  std::size_t size() const { return keys_.size(); }

 private:
  struct Entry {
    std::string kid;
    std::vector<JwtAlgorithm> algorithms;  // that it may be used with
    std::shared_ptr<evp_pkey_st> key;
  };
  static bool signed_by(const Entry& entry, const Jwt& token);

  std::vector<Entry> keys_;
};

}  // namespace mcpivot
