#include "front/tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "front/bearer.h"
#include "front/private_file.h"

namespace mcpivot {
namespace {

constexpr std::size_t longest_token_file = 1024 * 1024;
constexpr std::size_t most_tokens = 10'000;

// Names of people, machines and profiles; they appear in logs and status.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= Tokens::longest_name && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._-@+:").contains(c);
  });
}

std::string id_of(const Tokens::Holder& holder, const std::string& hash) {
  return sha256(fmt::format("{} {} {}", holder.name, holder.profile, hash)).substr(0, 32);
}

}  // namespace

std::expected<Tokens, std::string> Tokens::parse(const std::string& name, std::string_view text) {
  Tokens tokens;
  Lines lines(text);
  // The mistake may be a token in the wrong place, so nothing of the line is shown except a name.
  const auto wrong = [&](std::string_view words) {
    return std::unexpected(fmt::format("{}:{}: {}", name, lines.number(), words));
  };
  while (lines.next()) {
    Entry entry{.hash = {}, .line = lines.number(), .holder = {}};
    const std::string_view holder = lines.word();
    const std::string_view token = lines.word();
    const std::string_view profile = lines.word();
    if (!is_name(holder))
      return wrong(
          fmt::format("a name has up to {} letters, digits and ._-@+: in it; a line is NAME TOKEN [PROFILE]",
                      longest_name));
    if (token.empty())
      return wrong(
          "the token is missing; a line is NAME TOKEN [PROFILE]; make one with: openssl rand -hex 32");
    if (token.size() < shortest)
      return wrong(
          fmt::format("the token of {} is shorter than {} characters; make one with: openssl rand -hex 32",
                      holder, shortest));
    if (token.size() > longest)
      return wrong(fmt::format("the token of {} is longer than {} characters", holder, longest));
    if (!is_bearer_token(token))
      return wrong(
          fmt::format("the token of {} has a character that a Bearer token can't have: only letters, "
                      "digits and -._~+/ are allowed, and = at its end",
                      holder));
    if (!profile.empty() && !is_name(profile))
      return wrong(fmt::format("a profile has up to {} letters, digits and ._-@+: in it", longest_name));
    if (!lines.word().empty()) return wrong("a line is NAME TOKEN [PROFILE]; this one has more");
    if (tokens.size() == most_tokens) return wrong(fmt::format("more than {} tokens", most_tokens));
    entry.hash = sha256(token);
    if (const auto twin = std::ranges::find(tokens.entries_, entry.hash, &Entry::hash);
        twin != tokens.entries_.end())
      return wrong(fmt::format("{} has the same token as {} on line {}; each line needs its own", holder,
                               twin->holder.name, twin->line));
    entry.holder = {.name = std::string(holder), .profile = std::string(profile), .id = {}};
    entry.holder.id = id_of(entry.holder, entry.hash);
    tokens.entries_.push_back(std::move(entry));
  }
  return tokens;
}

std::expected<Tokens, std::string> Tokens::load(const std::string& path) {
  const auto text = read_private_file(path, longest_token_file);
  if (!text) return std::unexpected(text.error().words);
  return parse(path, text->view());
}

std::optional<Tokens::Holder> Tokens::find(std::string_view token) const {
  if (token.size() > longest) return std::nullopt;
  const std::string hash = sha256(token);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_)
    if (CRYPTO_memcmp(entry.hash.data(), hash.data(), hash.size()) == 0) found = &entry;
  return found == nullptr ? std::nullopt : std::optional(found->holder);
}

bool Tokens::has(std::string_view id) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.holder.id == id; });
}

bool Tokens::lets_in(std::string_view name, std::string_view profile) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.holder.name == name && entry.holder.profile == profile;
  });
}

}  // namespace mcpivot
