#include "oauth/jwks.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/contains.h"
#include "oauth/json_object.h"

namespace mcpivot {
namespace {

constexpr int least_rsa_bits = 2'048;
constexpr int most_rsa_bits = 4'096;  // a larger one costs time, and isn't used in practice
constexpr std::size_t longest_exponent = 4;

template <auto free_it>
struct Free {
  template <class Thing>
  void operator()(Thing* thing) const {
    free_it(thing);
  }
};
template <class Thing, auto free_it>
using Owned = std::unique_ptr<Thing, Free<free_it>>;
using Number = Owned<BIGNUM, BN_free>;
using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using KeyContext = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using Builder = Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using Params = Owned<OSSL_PARAM, OSSL_PARAM_free>;
using Digest = Owned<EVP_MD_CTX, EVP_MD_CTX_free>;
using Signature = Owned<ECDSA_SIG, ECDSA_SIG_free>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_in(std::string_view bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

Key made(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return Key(key);
}

// A member in base64url.
std::optional<std::string> bytes_in(const JsonObject& jwk, std::string_view member) {
  const auto text = jwk.text(member);
  return text ? from_base64url(*text) : std::nullopt;
}

Key rsa_key(const JsonObject& jwk) {
  const auto modulus = bytes_in(jwk, "n");
  const auto exponent = bytes_in(jwk, "e");
  if (!modulus || !exponent || modulus->size() > most_rsa_bits / 8 + 1 || exponent->size() > longest_exponent)
    return nullptr;
  const Number n = number_in(*modulus);
  const Number e = number_in(*exponent);
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder) return nullptr;
  const int bits = BN_num_bits(n.get());
  if (bits < least_rsa_bits || bits > most_rsa_bits || BN_is_odd(n.get()) == 0 || BN_is_odd(e.get()) == 0 ||
      BN_is_one(e.get()) != 0)
    return nullptr;
  if (OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return made("RSA", builder.get());
}

// OpenSSL refuses a point that isn't on the curve.
Key ec_key(const JsonObject& jwk, const char* group, std::size_t size) {
  const auto x = bytes_in(jwk, "x");
  const auto y = bytes_in(jwk, "y");
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder || !x || !y || x->size() != size || y->size() != size) return nullptr;
  const std::string point = "\x04" + *x + *y;
  if (OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) !=
          1)
    return nullptr;
  return made("EC", builder.get());
}

Key ed25519_key(const JsonObject& jwk) {
  const auto x = bytes_in(jwk, "x");
  if (!x || x->size() != 32) return nullptr;
  return Key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(*x), x->size()));
}

struct Made {
  Key key;
  std::vector<JwtAlgorithm> algorithms{};
};

Made key_in(const JsonObject& jwk) {
  const std::string type = jwk.text("kty").value_or("");
  const std::string curve = jwk.text("crv").value_or("");
  if (type == "RSA") return {rsa_key(jwk), {JwtAlgorithm::rs256, JwtAlgorithm::ps256}};
  if (type == "EC" && curve == "P-256") return {ec_key(jwk, "P-256", 32), {JwtAlgorithm::es256}};
  if (type == "EC" && curve == "P-384") return {ec_key(jwk, "P-384", 48), {JwtAlgorithm::es384}};
  if (type == "OKP" && curve == "Ed25519") return {ed25519_key(jwk), {JwtAlgorithm::eddsa}};
  return {};
}

// What the set says of it: that it verifies, and with which algorithm.
bool may_verify(const JsonObject& jwk, std::vector<JwtAlgorithm>& algorithms) {
  if (jwk.has("use") && jwk.text("use") != "sig") return false;
  if (jwk.has("key_ops")) {
    const auto operations = jwk.texts("key_ops");
    if (!operations || !contains(*operations, "verify")) return false;
  }
  if (jwk.has("alg")) {
    const auto name = jwk.text("alg");
    const auto algorithm = name ? jwt_algorithm(*name) : std::nullopt;
    if (!algorithm || !contains(algorithms, *algorithm)) return false;
    algorithms = {*algorithm};
  }
  return !jwk.has("d");  // a private key that everybody can read proves nothing
}

// A JWT has the two numbers one after the other, OpenSSL wants them in DER.
std::string in_der(std::string_view raw, std::size_t size) {
  if (raw.size() != 2 * size) return {};
  const Signature signature(ECDSA_SIG_new());
  Number r = number_in(raw.substr(0, size));
  Number s = number_in(raw.substr(size));
  if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(signature.get(), &der);
  if (length <= 0) return {};
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(length));
  OPENSSL_free(der);
  return text;
}

bool use_pss(EVP_PKEY_CTX* context) {
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

}  // namespace

std::expected<KeySet, std::string> KeySet::read(std::string_view json) {
  if (json.size() > longest)
    return std::unexpected(fmt::format("the key set has more than {} KB", longest / 1024));
  const auto object = JsonObject::read(json);
  if (!object) return std::unexpected("the key set isn't a valid JSON object");
  const auto elements = json_elements(object->find("keys"), most_keys);
  if (!elements)
    return std::unexpected(
        fmt::format("the key set has no list \"keys\", or one with more than {} keys", most_keys));
  KeySet set;
  for (const std::string_view element : *elements) {
    const auto jwk = JsonObject::read(element);
    if (!jwk) continue;
    Made made = key_in(*jwk);
    if (!made.key || !may_verify(*jwk, made.algorithms)) continue;
    set.keys_.push_back({jwk->text("kid").value_or(""), std::move(made.algorithms), std::move(made.key)});
  }
  ERR_clear_error();  // or the next TLS call on this thread would report it
  if (set.keys_.empty())
    return std::unexpected(
        fmt::format("none of the {} keys in the key set can be used to verify access tokens; they need RSA "
                    "(2048 bits or more), P-256, P-384 or Ed25519 keys",
                    elements->size()));
  return set;
}

KeySet::Finding KeySet::verify(const Jwt& token) const {
  const Entry* only = nullptr;
  bool named = false;
  for (const Entry& entry : keys_) {
    if (!token.kid.empty() && entry.kid != token.kid) continue;
    named = true;
    if (!contains(entry.algorithms, token.algorithm)) continue;
    // Each would have to be tried. An issuer with several keys says which one it used.
    if (only != nullptr) return Finding::forged;
    only = &entry;
  }
  if (only == nullptr) return named && !token.kid.empty() ? Finding::forged : Finding::unknown_key;
  if (signed_by(*only, token)) return Finding::genuine;
  return token.kid.empty() ? Finding::unknown_key : Finding::forged;
}

bool KeySet::signed_by(const Entry& entry, const Jwt& token) {
  const EVP_MD* digest = EVP_sha256();
  std::string signature = token.signature;
  switch (token.algorithm) {
    case JwtAlgorithm::rs256:
    case JwtAlgorithm::ps256:
      break;
    case JwtAlgorithm::es256:
      signature = in_der(token.signature, 32);
      break;
    case JwtAlgorithm::es384:
      digest = EVP_sha384();
      signature = in_der(token.signature, 48);
      break;
    case JwtAlgorithm::eddsa:
      digest = nullptr;
      break;
  }
  const Digest context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* settings = nullptr;  // belongs to `context`
  const bool good = context && !signature.empty() &&
                    EVP_DigestVerifyInit(context.get(), &settings, digest, nullptr, entry.key.get()) == 1 &&
                    (token.algorithm != JwtAlgorithm::ps256 || use_pss(settings)) &&
                    EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                                     bytes_of(token.content), token.content.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace mcpivot
