// Session ids that carry their session: a ticket, sealed with authenticated encryption (AES-256-GCM). An
// mcpivot that has the key can resume a session about which it knows nothing else.
//
// An id is KEYID.TEXT: the key's id in the clear, and nonce, ciphertext and tag in base64url. Visible ASCII,
// at most 1,024 characters.
//
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "front/session_keys.h"

namespace mcpivot {

struct SessionTicket {
  std::string uid;        // identifies the session in the store: random_text()
  std::string principal;  // whose it is; empty: anonymous
  std::string profile;
  std::string version;  // of the protocol, as negotiated
  std::string hello;    // the params of `initialize`, as JSON text
  std::chrono::sys_seconds issued;
  std::chrono::sys_seconds expires;
  // False: the hello isn't in the id, because it was too long. The store may have it.
  bool hello_inside = true;
  bool operator==(const SessionTicket&) const = default;
};

class SessionSeal {
 public:
  static constexpr std::size_t longest_id = 1024;
  enum class Refusal : std::uint8_t {
    not_ours,  // made up, changed, or sealed with a key that we no longer have
    expired,   // ours, but too old
  };

  explicit SessionSeal(SessionKeys keys) : keys_(std::move(keys)) {}
  // After the key file has been read again.
  void use(SessionKeys keys) { keys_ = std::move(keys); }

  // The hello is left out if the id would be too long with it. Empty: it is too long even without it, because
  // the other texts exceed some 600 bytes. Sealing a ticket twice never gives the same id.
  std::string seal(const SessionTicket& ticket) const;

  // Never throws, whatever it is given, and never takes longer than for an id of maximum length.
  std::expected<SessionTicket, Refusal> open(std::string_view id, std::chrono::sys_seconds now) const;

 private:
  SessionKeys keys_;
};

}  // namespace mcpivot
