// What is remembered of a server that was signed in to: the issuer, who mcpivot is there, and the tokens.
// There is one file for each server and client, readable only by its user and replaced as a whole. Next to it
// is a lock: only its holder refreshes tokens or asks the user, and it writes the address that the user
// should open into the lock's file, so that other processes can show it too.
//
// One thread. Any number of processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "base/lock_file.h"
#include "oauth/client.h"

namespace mcpivot {

// Whether the server takes the tokens that its issuer gives us for it.
struct TokenTrial {
  // The last one; nothing: the server took it.
  enum class Of : std::uint8_t { nothing, users_token, refreshed_token };
  Of of = Of::nothing;
  bool failed = false;        // it was rejected, and is counted
  std::int64_t failures = 0;  // how many of the user's were rejected at once, since the last `mcpivot login`
  std::int64_t since = 0;     // when the last one was issued, in seconds since 1970

  bool runs() const { return of != Of::nothing; }
};

struct SignInRecord {
  std::string server{};  // its address, for people who look into the folder
  std::string resource{};
  IssuerMetadata issuer{};  // its issuer is empty: nothing is known
  OauthClient client{};     // its id is empty: not registered
  GrantedTokens tokens{};   // its access is empty: signed out
  Scopes asked{};           // the scopes of the last authorization
  Scopes needed{};          // that calls lacked where users aren't asked: `mcpivot login` asks for them, too
  std::int64_t sign_ins = 0;  // how often the user has signed in
  std::int64_t login = 0;     // when the user last signed in with `mcpivot login`, in seconds since 1970
  TokenTrial trial{};

  bool signed_in() const { return !tokens.access.empty(); }
};

std::string record_text(const SignInRecord& record);
// For people: signed in as whom, where and until when, or not. No token.
std::string record_line(const SignInRecord& record);
// Nothing if it isn't one of ours.
std::optional<SignInRecord> parse_record(std::string_view text);

// What the holder of the lock waits for.
struct PendingSignIn {
  std::string url{};           // for the user to open
  std::string redirect_uri{};  // where they come back to
  bool in_browser = false;     // the user sees it already
};

class SignInStore {
 public:
  // In the user's state folder; one for each server and client. The folder is made when it is needed.
  SignInStore(const Url& server, const ClientConfig& client, const std::string& folder);

  SignInRecord read() const;  // an empty one if there is none
  // The error is a sentence. Only for the holder of the lock.
  std::expected<void, std::string> write(const SignInRecord& record);
  std::expected<void, std::string> remove();
  // Changes whenever the file does.
  std::string stamp() const;

  // Without waiting.
  LockFile::Taken take_turn();
  // A process that has the turn for longer without a page to open is probably stopped: a request takes at
  // most 20 s.
  static constexpr std::chrono::milliseconds longest_silence{25'000};
  void end_turn();
  bool has_turn() const { return lock_.descriptor() >= 0; }
  void announce(const PendingSignIn& pending);
  // How long users are waited for.
  static constexpr std::chrono::minutes longest_page{10};
  // What the holder of the lock announced; nothing if that is so long ago that the holder must be stopped.
  std::optional<PendingSignIn> announced() const;
  // Also if that is long ago: it waits for its user, or is stopped, but it refreshes nothing.
  bool shows_page() const;

  const std::string& path() const { return path_; }

 private:
  std::string server_;
  std::string path_;
  LockFile lock_;
};

// Where they are.
std::string sign_in_folder();

}  // namespace mcpivot
