#include "oauth/jwt.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/base64.h"
#include "base/contains.h"
#include "base/text.h"
#include "oauth/json_object.h"

namespace mcpivot {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::array<std::pair<std::string_view, JwtAlgorithm>, 5> algorithms{
    {{"RS256", JwtAlgorithm::rs256},
     {"PS256", JwtAlgorithm::ps256},
     {"ES256", JwtAlgorithm::es256},
     {"ES384", JwtAlgorithm::es384},
     {"EdDSA", JwtAlgorithm::eddsa}}};

// The year 9999: a later time means "never".
constexpr double latest = 253'402'300'799.0;

// Seconds since 1970, perhaps with a fraction. Nothing: it isn't a time.
std::optional<sys_seconds> time_in(std::string_view json) {
  double number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  if (json.empty() || end != json.data() + json.size()) return std::nullopt;
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  return sys_seconds(seconds(static_cast<std::int64_t>(std::min(number, latest))));
}

// A JSON object in base64url.
std::optional<std::string> decoded(std::string_view part) {
  return part.empty() ? std::nullopt : from_base64url(part);
}

bool is_subject(std::string_view text) {
  return !text.empty() && text.size() <= Jwt::longest_subject && text.front() != ' ' && text.back() != ' ' &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// What is wrong; empty: nothing.
std::string_view read_header(const JsonObject& header, Jwt& token) {
  const auto name = header.text("alg");
  const auto algorithm = name ? jwt_algorithm(*name) : std::nullopt;
  if (!algorithm) return "the token is signed with an algorithm that isn't accepted";
  token.algorithm = *algorithm;
  // Other things that an issuer signs, such as an ID token, aren't access tokens.
  const auto type = header.text("typ");
  const std::string spelled = type ? lower(*type) : std::string();
  if (spelled != "at+jwt" && spelled != "application/at+jwt") return "the token's typ isn't at+jwt";
  if (header.has("crit")) return "the token has critical headers";
  if (header.has("kid")) {
    const auto kid = header.text("kid");
    if (!kid || kid->empty() || kid->size() > Jwt::longest_kid) return "the token's kid is invalid";
    token.kid = *kid;
  }
  return {};
}

std::string_view read_claims(const JsonObject& claims, Jwt& token) {
  const auto issuer = claims.text("iss");
  if (!issuer) return "the token has no iss";
  token.issuer = *issuer;
  const auto subject = claims.text("sub");
  if (!subject || !is_subject(*subject)) return "the token has no usable sub";
  token.subject = *subject;
  if (const auto one = claims.text("aud")) {
    token.audiences = {*one};
  } else if (auto several = claims.texts("aud")) {
    token.audiences = std::move(*several);
  } else {
    return "the token's aud is neither a string nor a list of strings";
  }
  const auto expires = time_in(claims.find("exp"));
  if (!expires) return "the token has no exp";
  token.expires = *expires;
  for (const auto& [claim, time] : {std::pair{"nbf", &token.not_before}, std::pair{"iat", &token.issued}}) {
    if (!claims.has(claim)) continue;
    *time = time_in(claims.find(claim));
    if (!*time) return "the token has an nbf or iat that isn't a time";
  }
  if (claims.has("scope")) {
    const auto scope = claims.text("scope");
    if (!scope) return "the token's scope isn't a string";
    token.scopes = words_in(*scope);
  }
  return {};
}

}  // namespace

std::optional<JwtAlgorithm> jwt_algorithm(std::string_view name) {
  for (const auto& [known, algorithm] : algorithms)
    if (known == name) return algorithm;
  return std::nullopt;
}

std::expected<Jwt, std::string_view> read_jwt(std::string_view token) {
  if (token.size() > Jwt::longest) return std::unexpected("the token is too long");
  const auto first = token.find('.');
  const auto last = token.rfind('.');
  if (first == std::string_view::npos || first == last ||
      token.find('.', first + 1) != last)  // an encrypted one has five parts
    return std::unexpected("the token isn't a signed JWT");
  const auto header_text = decoded(token.substr(0, first));
  const auto claims_text = decoded(token.substr(first + 1, last - first - 1));
  auto signature = decoded(token.substr(last + 1));
  const auto header = header_text ? JsonObject::read(*header_text) : std::nullopt;
  if (!header) return std::unexpected("the token's header is invalid");
  Jwt read;
  if (const std::string_view fault = read_header(*header, read); !fault.empty())
    return std::unexpected(fault);
  const auto claims = claims_text ? JsonObject::read(*claims_text) : std::nullopt;
  if (!claims) return std::unexpected("the token's claims are invalid");
  if (const std::string_view fault = read_claims(*claims, read); !fault.empty())
    return std::unexpected(fault);
  if (!signature) return std::unexpected("the token's signature is invalid");
  read.content = token.substr(0, last);
  read.signature = std::move(*signature);
  return read;
}

std::optional<std::string_view> fault_in_claims(const Jwt& token, const JwtRules& rules, sys_seconds now) {
  if (token.issuer != rules.issuer) return "the token is from another issuer";
  if (!contains(token.audiences, rules.audience)) return "the token is for another audience";
  if (now >= token.expires + rules.leeway) return "the token has expired";
  if (token.not_before && now + rules.leeway < *token.not_before) return "the token isn't valid yet";
  // A clock is wrong: the issuer's, or ours.
  if (token.issued && now + rules.leeway < *token.issued) return "the token was issued in the future";
  return std::nullopt;
}

}  // namespace mcpivot
