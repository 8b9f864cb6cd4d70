// The keys of the authorization server that clients get their tokens from (--oauth-issuer): found through its
// metadata, fetched when they are needed, and cached.
//
// A token signed with an unknown key makes us fetch them again, but not often: made-up
// tokens can't make us flood the issuer. While an issuer is down, known keys keep working
// for a day.
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/url.h"
#include "oauth/json_object.h"
#include "oauth/jwks.h"
#include "server/timers.h"

namespace mcpivot {

class IssuerKeys {
 public:
  // How often keys are fetched, and how long they are used.
  struct Pace {
    std::chrono::milliseconds between{10'000};                  // two fetches for an unknown key
    std::chrono::milliseconds fresh{std::chrono::minutes(10)};  // older ones are refreshed in the background,
    std::chrono::milliseconds stale{std::chrono::hours(1)};     // even older ones before they are used,
    std::chrono::milliseconds kept{std::chrono::hours(24)};     // and if that fails, used only this long
    std::chrono::milliseconds patience{10'000};                 // for one fetch, metadata and all
    std::chrono::milliseconds first_pause{1'000};               // after a fetch that failed; doubles
    std::chrono::milliseconds longest_pause{60'000};
  };
  struct Document {
    int status = 0;
    std::string body{};
  };
  using Got = std::function<void(std::expected<Document, std::string>)>;
  // Must not answer from within the call, nor after the keys are gone.
  using Get = std::function<void(const Url& url, Got got)>;

  IssuerKeys(Timers& timers, std::string issuer, Get get, Pace pace);
  IssuerKeys(Timers& timers, std::string issuer, Get get)
      : IssuerKeys(timers, std::move(issuer), std::move(get), Pace()) {}

  enum class Finding : std::uint8_t {
    genuine,
    forged,
    keys_come,  // are being fetched: ask again when that has ended
    no_keys,    // can't be fetched for now
  };
  Finding verify(const Jwt& token);
  // Whether what they verified before still counts. Also refreshes them if that is due, as verify() does.
  bool still_hold();
  // In advance, so that they are there for the first token.
  void fetch() { begin(); }
  // Called whenever a fetch has ended, successfully or not.
  void on_ended(std::function<void()> ended) { ended_ = std::move(ended); }

  // Counts the sets of keys: what was verified with an earlier one must be verified again.
  std::uint64_t edition() const { return edition_; }
  // When to try again.
  std::chrono::seconds retry_after() const;
  // Why they can't be fetched; empty: they can.
  const std::string& trouble() const { return trouble_; }

 private:
  // Begins a fetch if one is due. Returns whether one is under way.
  bool begin();
  void forget_if_too_old();
  // What was fetched is passed on, even if it is useless.
  void get(const std::string& place, Got then);
  // At this place and those after it. `so_far` is what was wrong at an earlier one; empty: nothing was there.
  void look_for_metadata(std::size_t place, const std::string& so_far);
  void use_metadata(const std::string& where, const JsonObject& metadata);
  void get_keys();
  void succeed(KeySet keys, std::string text);
  void fail(const std::string& why);
  void end();

  Timers& timers_;
  std::string issuer_;
  Get get_;
  Pace pace_;
  std::string keys_url_;  // empty: not known
  std::optional<KeySet> keys_;
  std::string text_;  // of the keys
  std::uint64_t edition_ = 0;
  Timers::Time fetched_{};
  Timers::Time next_{};  // no fetch before
  bool fetching_ = false;
  std::uint64_t attempt_ = 0;  // answers to an earlier one don't count
  unsigned failures_ = 0;      // since the last success
  std::string trouble_;
  Alarm patience_;
  std::function<void()> ended_;
};

}  // namespace mcpivot
