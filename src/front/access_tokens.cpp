#include "front/access_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/url.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_remembered = 4'096;
constexpr std::size_t longest_audience = 1'000;

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

}  // namespace

AccessTokens::AccessTokens(Timers& timers, JwtRules rules, IssuerKeys::Get get)
    : rules_(std::move(rules)), keys_(timers, rules_.issuer, std::move(get)) {}

std::expected<AccessTokens::Holder, AccessTokens::Refusal> AccessTokens::check(std::string_view token,
                                                                               std::chrono::sys_seconds now) {
  using enum Refusal::Kind;
  const auto refused = [](Refusal::Kind kind, std::string_view words) {
    return std::unexpected(Refusal{kind, words});
  };
  if (token.size() > Jwt::longest) return refused(bad_token, "the token is too long");
  const bool remembered_hold = keys_.still_hold();
  if (edition_ != keys_.edition()) {
    edition_ = keys_.edition();
    good_.clear();
    ends_.clear();
  }
  while (!ends_.empty() && ends_.begin()->first <= now) forget_first();
  std::string hash = sha256(token);
  const auto known = good_.find(hash);
  if (remembered_hold && known != good_.end()) return known->second;
  const auto read = read_jwt(token);
  if (!read) return refused(bad_token, read.error());
  // Before the signature: what is refused anyway needs no key.
  if (const auto fault = fault_in_claims(*read, rules_, now)) return refused(bad_token, *fault);
  switch (keys_.verify(*read)) {
    case IssuerKeys::Finding::genuine:
      break;
    case IssuerKeys::Finding::forged:
      return refused(bad_token, "the token isn't signed with a key of the issuer");
    case IssuerKeys::Finding::keys_come:
      return refused(keys_come, "the issuer's keys are being fetched");
    case IssuerKeys::Finding::no_keys:
      return refused(no_keys, "the issuer's keys can't be fetched");
  }
  Holder holder{.principal = fmt::format("{} {}", read->issuer, read->subject),
                .scopes = read->scopes,
                .until = read->expires + rules_.leeway};
  remember(std::move(hash), holder);
  return holder;
}

void AccessTokens::remember(std::string hash, Holder holder) {
  if (good_.size() >= most_remembered) forget_first();
  const auto until = holder.until;
  if (good_.emplace(hash, std::move(holder)).second) ends_.emplace(until, std::move(hash));
}

void AccessTokens::forget_first() {
  good_.erase(ends_.begin()->second);
  ends_.erase(ends_.begin());
}

std::string fault_in_issuer(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return url.error();
  if (text.size() > AccessTokens::longest_issuer)
    return fmt::format("is longer than {} characters", AccessTokens::longest_issuer);
  if (text.find_first_of("?#\"\\") != std::string_view::npos)
    return "an issuer has no query, fragment, quote or backslash";
  if (!url->tls && !is_this_machine(url->host))
    return "must begin with https://, unless it is on this machine";
  return {};
}

std::string fault_in_audience(std::string_view text) {
  if (text.empty() || text.size() > longest_audience)
    return fmt::format("must have 1 to {} characters", longest_audience);
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; }))
    return "must be a URI: ASCII characters without spaces, quotes and backslashes";
  return {};
}

}  // namespace mcpivot
