// What comes from the network and from the user's files before anyone is admitted: session ids, Authorization
// headers, the files of tokens and of keys. The first byte says which.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "front/bearer.h"
#include "front/session_seal.h"
#include "front/tokens.h"
#include "fuzz.h"

namespace {

using namespace mcpivot;
using fuzz::check;

constexpr std::chrono::sys_seconds now{std::chrono::seconds{1'800'000'000}};

const SessionSeal& seal() {
  static const SessionSeal made(*SessionKeys::parse("k", "k1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="));
  return made;
}

const std::string& some_id() {
  static const std::string id = seal().seal({.uid = "0123456789abcdef0123456789abcdef",
                                             .principal = "alice",
                                             .profile = "work",
                                             .version = "2025-11-25",
                                             .hello = "{}",
                                             .issued = now,
                                             .expires = now + std::chrono::seconds{60}});
  return id;
}

void check_id(std::string_view text) {
  check(!seal().open(text, now), "nothing made up is ours");
  check(!seal().open("k1." + std::string(text), now), "not with our key's id either");
  if (text.empty()) return;
  // Ours, with part of it overwritten by the text.
  std::string changed = some_id();
  const std::size_t at = static_cast<unsigned char>(text.front()) % changed.size();
  text.remove_prefix(1);
  changed.replace(at, text.size(), text);
  const auto opened = seal().open(changed, now);
  check(opened.has_value() == (changed == some_id()), "ours is what was not changed, and nothing else");
  if (!opened) check(opened.error() == SessionSeal::Refusal::not_ours, "changed is not expired");
}

void check_bearer(std::string_view text) {
  const auto token = bearer_token(text);
  if (!token) return;
  check(!token->empty() && text.ends_with(*token), "the token is the end of the header");
  check(token->find_first_of(" \t,;\"\r\n") == std::string_view::npos, "there is one token");
  check(bearer_token("Bearer " + std::string(*token)) == token, "and it is read the same again");
}

// A plainer way to find the words of a file.
std::vector<std::vector<std::string>> words_of(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<std::vector<std::string>> lines(1);
  std::string word;
  bool comment = false;
  const auto end_word = [&] {
    if (word.starts_with('#')) comment = true;
    if (!word.empty() && !comment) lines.back().push_back(word);
    word.clear();
  };
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n') end_word();
    if (c == '\n') {
      lines.emplace_back();
      comment = false;
    } else if (c != ' ' && c != '\t') {
      word += c;
    }
  }
  end_word();
  return lines;
}

void check_tokens(std::string_view text) {
  const auto tokens = Tokens::parse("t", text);
  if (!tokens) {
    check(tokens.error().starts_with("t:"), "an error has file and line");
    return;
  }
  if (text.find('\r') != std::string_view::npos) return;
  std::size_t count = 0;
  for (const auto& words : words_of(text)) {
    if (words.empty()) continue;
    ++count;
    check(words.size() == 2 || words.size() == 3, "a line is NAME TOKEN [PROFILE]");
    const auto found = tokens->find(words[1]);
    check(found && found->name == words[0], "a token is its holder's");
    check(found->profile == (words.size() == 3 ? words[2] : ""), "with its profile");
    check(tokens->has(found->id), "and its line is known");
    check(bearer_token("Bearer " + words[1]) == words[1], "it can be sent");
  }
  check(tokens->size() == count, "there are no others");
}

void check_keys(std::string_view text) {
  const auto keys = SessionKeys::parse("t", text);
  if (!keys)
    return check(keys.error().starts_with("t:") || keys.error().starts_with("t has no"),
                 "an error has words");
  check(keys->find(keys->first().id) == &keys->first(), "the first key is found by its id");
  const SessionSeal made(*keys);
  const auto opened = made.open(made.seal({.uid = "u",
                                           .principal = "",
                                           .profile = "",
                                           .version = "",
                                           .hello = "{}",
                                           .issued = now,
                                           .expires = now + std::chrono::seconds{1}}),
                                now);
  check(opened && opened->uid == "u", "and opens what it seals");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'i':
      check_id(text);
      break;
    case 'b':
      check_bearer(text);
      break;
    case 'k':
      check_keys(text);
      break;
    default:
      check_tokens(text);
  }
  return 0;
}
