#include "front/session_seal.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/base64.h"

namespace mcpivot {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::size_t nonce_size = 12;
constexpr std::size_t tag_size = 16;
// The version of a ticket's content and format. Other formats get other numbers.
constexpr unsigned char format = 1;
constexpr unsigned char has_hello = 1;

// --- a ticket as bytes: format, flags, two times of eight bytes, five texts with their sizes in two bytes
// ---

void put_number(std::string& bytes, std::uint64_t number, unsigned size) {
  while (size-- > 0) bytes += static_cast<char>((number >> (8 * size)) & 255U);
}

bool put_text(std::string& bytes, std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint16_t>::max()) return false;
  put_number(bytes, text.size(), 2);
  bytes += text;
  return true;
}

// Nothing: a text is too long for its size field.
std::optional<std::string> written(const SessionTicket& ticket, bool with_hello) {
  std::string bytes;
  put_number(bytes, format, 1);
  put_number(bytes, with_hello ? has_hello : 0, 1);
  put_number(bytes, static_cast<std::uint64_t>(ticket.issued.time_since_epoch().count()), 8);
  put_number(bytes, static_cast<std::uint64_t>(ticket.expires.time_since_epoch().count()), 8);
  for (const std::string* text : {&ticket.uid, &ticket.principal, &ticket.profile, &ticket.version})
    if (!put_text(bytes, *text)) return std::nullopt;
  if (!put_text(bytes, with_hello ? ticket.hello : "")) return std::nullopt;
  return bytes;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number(unsigned size) {
    std::uint64_t number = 0;
    for (const char byte : take(size)) number = (number << 8U) | static_cast<unsigned char>(byte);
    return number;
  }
  sys_seconds time() { return sys_seconds(seconds(static_cast<std::int64_t>(number(8)))); }
  std::string text() { return std::string(take(number(2))); }
  bool at_its_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool good_ = true;
};

std::optional<SessionTicket> read_ticket(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.number(1) != format) return std::nullopt;
  SessionTicket ticket;
  ticket.hello_inside = (reader.number(1) & has_hello) != 0;
  ticket.issued = reader.time();
  ticket.expires = reader.time();
  for (std::string* text : {&ticket.uid, &ticket.principal, &ticket.profile, &ticket.version, &ticket.hello})
    *text = reader.text();
  if (!reader.at_its_end()) return std::nullopt;
  return ticket;
}

// --- AES-256-GCM -----------------------------------------------------------------------------------------

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

// Bound to the ciphertext: an id whose key id was changed doesn't open, even if both keys are the same; nor
// does anything that another program sealed with this key.
std::string associated(std::string_view key_id) {
  return "mcpivot session id\n" + std::string(key_id);
}

// nonce, ciphertext, tag
std::string encrypted(const SessionKey& key, std::string_view plain) {
  std::string sealed(nonce_size + plain.size() + tag_size, '\0');
  unsigned char* const nonce = bytes_of(sealed);
  unsigned char* const cipher = nonce + nonce_size;
  const std::string clear = associated(key.id);
  const Context context(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool good =
      context && RAND_bytes(nonce, nonce_size) == 1 &&
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(), nonce) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(clear), static_cast<int>(clear.size())) ==
          1 &&
      EVP_EncryptUpdate(context.get(), cipher, &size, bytes_of(plain), static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), cipher + plain.size(), &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, tag_size, cipher + plain.size()) == 1;
  // Without randomness or memory there is no safe way to continue.
  if (!good) throw std::runtime_error("OpenSSL could not seal a session id");
  return sealed;
}

std::optional<std::string> decrypted(const SessionKey& key, std::string& sealed) {
  if (sealed.size() < nonce_size + tag_size) return std::nullopt;
  unsigned char* const nonce = bytes_of(sealed);
  unsigned char* const cipher = nonce + nonce_size;
  const std::string clear = associated(key.id);
  std::string plain(sealed.size() - nonce_size - tag_size, '\0');
  const Context context(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool good =
      context &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(), nonce) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(clear), static_cast<int>(clear.size())) ==
          1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(plain), &size, cipher, static_cast<int>(plain.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tag_size, cipher + plain.size()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(plain) + plain.size(), &size) == 1;
  if (!good) {
    ERR_clear_error();  // otherwise the next TLS call on this thread would see it
    return std::nullopt;
  }
  return plain;
}

}  // namespace

std::string SessionSeal::seal(const SessionTicket& ticket) const {
  const SessionKey& key = keys_.first();
  const std::size_t around = key.id.size() + 1;
  for (const bool with_hello : {true, false}) {
    if (with_hello && !ticket.hello_inside) continue;
    const auto plain = written(ticket, with_hello);
    if (!plain || around + ((nonce_size + plain->size() + tag_size) * 4 + 2) / 3 > longest_id) continue;
    return key.id + "." + base64url(encrypted(key, *plain));
  }
  return {};
}

std::expected<SessionTicket, SessionSeal::Refusal> SessionSeal::open(std::string_view id,
                                                                     sys_seconds now) const {
  if (id.size() > longest_id) return std::unexpected(Refusal::not_ours);
  const auto dot = id.find('.');
  if (dot == std::string_view::npos) return std::unexpected(Refusal::not_ours);
  const SessionKey* key = keys_.find(id.substr(0, dot));
  auto sealed = key != nullptr ? from_base64url(id.substr(dot + 1)) : std::nullopt;
  if (!sealed) return std::unexpected(Refusal::not_ours);
  const auto plain = decrypted(*key, *sealed);
  auto ticket = plain ? read_ticket(*plain) : std::nullopt;
  if (!ticket) return std::unexpected(Refusal::not_ours);
  if (now >= ticket->expires) return std::unexpected(Refusal::expired);
  return std::move(*ticket);
}

}  // namespace mcpivot
