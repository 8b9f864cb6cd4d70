#include "front/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "front/answer_head.h"
#include "front/http_message.h"

namespace mcpivot {
namespace {

constexpr std::size_t largest_record = 16 * 1024;
constexpr std::size_t largest_file = 1024 * 1024;

struct FreeContext {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};
struct FreeConnection {
  void operator()(SSL* connection) const { ::SSL_free(connection); }
};

// Uses OpenSSL directly on the descriptor. Asio's stream would keep four buffers of 17 kB per connection,
// idle or not, and write through the loop what can nearly always be written at once.
class TlsWire final : public Wire {
 public:
  TlsWire(SSL_CTX* context, int descriptor) : descriptor_(descriptor), tls_(::SSL_new(context)) {
    if (tls_) ::SSL_set_fd(tls_.get(), descriptor);
  }

  Result shake_hands() override {
    if (!tls_) {
      after_failure_ = plain_wire(descriptor_);
      return {.now = Now::broken};
    }
    ::ERR_clear_error();
    const int result = ::SSL_accept(tls_.get());
    if (result == 1) return {};
    const Now now = verdict(result);
    if (now == Now::broken) after_failure_ = plain_wire(descriptor_);
    if (now == Now::broken && ERR_GET_REASON(::ERR_peek_error()) == SSL_R_HTTP_REQUEST) explain();
    return {.now = now};
  }

  Result read(std::span<char> room) override {
    if (after_failure_) return after_failure_->read(room);
    ::ERR_clear_error();
    std::size_t count = 0;
    const int result = ::SSL_read_ex(tls_.get(), room.data(), room.size(), &count);
    if (result == 1) return {.count = count};
    return {.now = verdict(result)};
  }

  // One record at a time. If it couldn't be written, OpenSSL must be given the same bytes again; they are
  // still first in line.
  Result write(std::span<const iovec> pieces) override {
    static std::array<char, largest_record> record;
    std::string_view bytes;
    if (!pieces.empty() && (pieces.size() == 1 || pieces[0].iov_len >= record.size())) {
      bytes = {static_cast<const char*>(pieces[0].iov_base), std::min(pieces[0].iov_len, record.size())};
    } else {
      std::size_t filled = 0;
      for (const iovec& piece : pieces) {
        const std::size_t size = std::min(piece.iov_len, record.size() - filled);
        std::memcpy(record.data() + filled, piece.iov_base, size);
        filled += size;
      }
      bytes = {record.data(), filled};
    }
    if (bytes.empty()) return {};
    ::ERR_clear_error();
    std::size_t count = 0;
    const int result = ::SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &count);
    if (result == 1) return {.count = count};
    return {.now = verdict(result)};
  }

  bool holds_bytes() const override { return !after_failure_ && ::SSL_pending(tls_.get()) > 0; }

  void finish() override {
    ::ERR_clear_error();
    if (!after_failure_) ::SSL_shutdown(tls_.get());
    ::shutdown(descriptor_, SHUT_WR);
  }

 private:
  Now verdict(int result) const {
    switch (::SSL_get_error(tls_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return Now::when_readable;
      case SSL_ERROR_WANT_WRITE:
        return Now::when_writable;
      case SSL_ERROR_ZERO_RETURN:
        return Now::ended;
      default:
        return Now::broken;
    }
  }

  // Somebody used http:// instead of https://. An answer in plain HTTP is the only one that they would
  // understand.
  void explain() const {
    HttpAnswer answer = plain_answer(400, "This port speaks HTTPS. Use https:// instead of http://.");
    const std::string text = answer_head({.status = answer.status,
                                          .headers = answer.headers,
                                          .length = answer.body.size(),
                                          .close = true}) +
                             answer.body;
    ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  int descriptor_;
  std::unique_ptr<SSL, FreeConnection> tls_;
  std::unique_ptr<Wire> after_failure_;  // what still arrives can't be decrypted
};

// Browsers offer HTTP/2 first; a client that supports nothing else is told so now rather than confused
// later.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char ours[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  if (::SSL_select_next_proto(&found, size, ours, sizeof(ours) - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// Without this, OpenSSL would prompt on the terminal.
int no_password(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

std::string reason() {
  const unsigned long error = ::ERR_peek_last_error();
  const char* text = ::ERR_reason_error_string(error);
  return text == nullptr ? "unknown reason" : text;
}

class Certificate final : public TlsCertificate {
 public:
  explicit Certificate(std::unique_ptr<SSL_CTX, FreeContext> context) : context_(std::move(context)) {}
  std::unique_ptr<Wire> wire(int descriptor) override {
    return std::make_unique<TlsWire>(context_.get(), descriptor);
  }

 private:
  std::unique_ptr<SSL_CTX, FreeContext> context_;
};

}  // namespace

std::expected<std::unique_ptr<TlsCertificate>, std::string> load_certificate(
    const std::string& certificate_file, const std::string& key_file) {
  ::ERR_clear_error();
  std::unique_ptr<SSL_CTX, FreeContext> context(::SSL_CTX_new(::TLS_server_method()));
  if (!context) return std::unexpected("TLS can't be set up: " + reason());
  SSL_CTX* raw = context.get();
  ::SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  ::SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  ::SSL_CTX_set_mode(
      raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  bool asked_for_password = false;
  ::SSL_CTX_set_default_passwd_cb(raw, no_password);
  ::SSL_CTX_set_default_passwd_cb_userdata(raw, &asked_for_password);
  for (const std::string& file : {certificate_file, key_file})
    if (const auto text = read_small_file(file, largest_file); !text)
      return std::unexpected(fmt::format("'{}' {}", file, text.error()));
  if (::SSL_CTX_use_certificate_chain_file(raw, certificate_file.c_str()) != 1)
    return std::unexpected(
        fmt::format("'{}' holds no certificate in PEM format: {}", certificate_file, reason()));
  if (::SSL_CTX_use_PrivateKey_file(raw, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long error = ::ERR_peek_error();
    if (ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH)
      return std::unexpected(fmt::format("the key in '{}' doesn't belong to the certificate in '{}'",
                                         key_file, certificate_file));
    if (asked_for_password)
      return std::unexpected(
          fmt::format("the key in '{}' is encrypted; use one without a password", key_file));
    return std::unexpected(fmt::format("'{}' holds no private key in PEM format: {}", key_file, reason()));
  }
  return std::make_unique<Certificate>(std::move(context));
}

}  // namespace mcpivot
