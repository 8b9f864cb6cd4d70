// A key pair of an authorization server, for tests: what it publishes, and the tokens it signs. Made with
// OpenSSL and without any of mcpivot's code, so that no mistake is on both sides.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace host {

inline std::string base64url(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

// Signed with what everyone can read, as if it were a secret.
inline std::string hmac_sha256(std::string_view secret, std::string_view content) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

class SigningKey {
 public:
  enum class Kind : std::uint8_t { rsa, p256, p384, ed25519 };

  explicit SigningKey(Kind kind, std::string kid = "k1", std::size_t bits = 2048)
      : kind_(kind), kid_(std::move(kid)) {
    switch (kind) {
      case Kind::rsa:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits));
        break;
      case Kind::p256:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
        break;
      case Kind::p384:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384"));
        break;
      case Kind::ed25519:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
        break;
    }
    if (!key_) throw std::runtime_error("OpenSSL makes no key");
  }

  const std::string& kid() const { return kid_; }

  // {"kty": …}; `more` is appended: ,"use":"sig"
  std::string jwk(const std::string& more = {}) const {
    const std::string kid = kid_.empty() ? "" : R"(,"kid":")" + kid_ + "\"";
    switch (kind_) {
      case Kind::rsa:
        return R"({"kty":"RSA","n":")" + number("n", 0) + R"(","e":")" + number("e", 0) + "\"" + kid + more +
               "}";
      case Kind::p256:
        return R"({"kty":"EC","crv":"P-256","x":")" + number("qx", 32) + R"(","y":")" + number("qy", 32) +
               "\"" + kid + more + "}";
      case Kind::p384:
        return R"({"kty":"EC","crv":"P-384","x":")" + number("qx", 48) + R"(","y":")" + number("qy", 48) +
               "\"" + kid + more + "}";
      case Kind::ed25519: {
        unsigned char raw[32];
        std::size_t size = sizeof(raw);
        if (EVP_PKEY_get_raw_public_key(key_.get(), raw, &size) != 1) throw std::runtime_error("no raw key");
        return R"({"kty":"OKP","crv":"Ed25519","x":")" +
               base64url({reinterpret_cast<const char*>(raw), size}) + "\"" + kid + more + "}";
      }
    }
    return {};
  }
  static std::string set(const std::string& jwks) { return R"({"keys":[)" + jwks + "]}"; }

  // The public key as a file has it.
  std::string pem() const {
    BIO* const memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(memory, key_.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(memory);
    return text;
  }

  std::string algorithm() const {
    return kind_ == Kind::rsa    ? "RS256"
           : kind_ == Kind::p256 ? "ES256"
           : kind_ == Kind::p384 ? "ES384"
                                 : "EdDSA";
  }
  std::string header(const std::string& more = {}) const {
    return R"({"typ":"at+jwt","alg":")" + algorithm() + R"(","kid":")" + kid_ + "\"" + more + "}";
  }
  std::string token(const std::string& claims) const { return token(header(), claims); }
  // Both are JSON, or whatever else a test tries.
  std::string token(const std::string& header, const std::string& claims, bool pss = false) const {
    const std::string content = base64url(header) + "." + base64url(claims);
    return content + "." + base64url(signature(content, pss));
  }

  std::string signature(std::string_view content, bool pss = false) const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_PKEY_CTX* settings = nullptr;
    const EVP_MD* const digest = kind_ == Kind::ed25519 ? nullptr
                                 : kind_ == Kind::p384  ? EVP_sha384()
                                                        : EVP_sha256();
    const auto* const bytes = reinterpret_cast<const unsigned char*>(content.data());
    std::size_t size = 0;
    bool good = EVP_DigestSignInit(context.get(), &settings, digest, nullptr, key_.get()) == 1;
    if (pss)
      good = good && EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, RSA_PSS_SALTLEN_DIGEST) == 1;
    good = good && EVP_DigestSign(context.get(), nullptr, &size, bytes, content.size()) == 1;
    std::string made(size, '\0');
    good = good && EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(made.data()), &size, bytes,
                                  content.size()) == 1;
    if (!good) throw std::runtime_error("OpenSSL signs nothing");
    made.resize(size);
    if (kind_ == Kind::p256) return raw(made, 32);
    return kind_ == Kind::p384 ? raw(made, 48) : made;
  }

 private:
  std::string number(const char* name, std::size_t size) const {
    BIGNUM* value = nullptr;
    if (EVP_PKEY_get_bn_param(key_.get(), name, &value) != 1) throw std::runtime_error("no such number");
    std::string bytes(size == 0 ? static_cast<std::size_t>(BN_num_bytes(value)) : size, '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    BN_free(value);
    return base64url(bytes);
  }

  static std::string raw(const std::string& der, std::size_t size) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* const pair = d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size()));
    std::string text(2 * size, '\0');
    auto* const out = reinterpret_cast<unsigned char*>(text.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, static_cast<int>(size));
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + size, static_cast<int>(size));
    ECDSA_SIG_free(pair);
    return text;
  }

  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };
  Kind kind_;
  std::string kid_;
  std::unique_ptr<EVP_PKEY, Free> key_;
};

}  // namespace host
