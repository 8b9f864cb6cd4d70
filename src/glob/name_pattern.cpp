#include "glob/name_pattern.h"

#include <algorithm>

#include "base/utf8.h"

namespace mcpivot {
namespace {

// The character at this position, which advances past it.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(at);
  const std::size_t more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 ? 2 : first >= 0xC2 ? 1 : 0;
  constexpr char32_t stray = 0xDC00;  // no character has this code, so a stray byte equals nothing else
  if (first < 0x80) return ++at, first;
  if (more == 0 || first >= 0xF8 || at + more >= text.size()) return ++at, stray + first;
  char32_t character = first & (0x3FU >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    if (!continues_character(text[at + i])) return ++at, stray + first;
    character = character << 6U | (byte(at + i) & 0x3FU);
  }
  at += more + 1;
  return character;
}

}  // namespace

std::expected<NamePattern, std::string> NamePattern::compile(std::string_view text) {
  NamePattern pattern;
  for (std::size_t at = 0; at < text.size();) {
    Token token;
    if (text[at] == '*') {
      token.kind = Token::Kind::run;
      ++at;
    } else if (text[at] == '?') {
      token.kind = Token::Kind::any;
      ++at;
    } else if (text[at] == '[') {
      auto set = compile_set(text, at);
      if (!set) return std::unexpected(set.error());
      token = std::move(*set);
    } else {
      if (text[at] == '\\') ++at;
      if (at == text.size()) return std::unexpected("a name in it ends in '\\'");
      const std::size_t begin = at;
      token.character = next_character(text, at);
      pattern.text_ += text.substr(begin, at - begin);
    }
    if (token.kind != Token::Kind::character) pattern.literal_ = false;
    const bool repeated = token.kind == Token::Kind::run && !pattern.tokens_.empty() &&
                          pattern.tokens_.back().kind == Token::Kind::run;
    if (!repeated) pattern.tokens_.push_back(std::move(token));
  }
  return pattern;
}

std::expected<NamePattern::Token, std::string> NamePattern::compile_set(std::string_view text,
                                                                        std::size_t& at) {
  Token token;
  token.kind = Token::Kind::set;
  ++at;
  if (at < text.size() && (text[at] == '!' || text[at] == '^')) {
    token.negated = true;
    ++at;
  }
  const auto member = [&]() {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    return next_character(text, at);
  };
  for (bool first = true; at < text.size(); first = false) {
    if (text[at] == ']' && !first) {
      ++at;
      return token;
    }
    const char32_t from = member();
    char32_t to = from;
    if (at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']') {
      ++at;
      to = member();
      if (to < from) return std::unexpected("a range in '[...]' runs backwards");
    }
    token.ranges.emplace_back(from, to);
  }
  return std::unexpected("a '[' has no ']' (write '\\[' for the character itself)");
}

bool NamePattern::Token::takes(char32_t c) const {
  if (kind == Kind::character) return c == character;
  if (kind == Kind::any) return true;
  const bool inside =
      std::ranges::any_of(ranges, [c](const auto& range) { return range.first <= c && c <= range.second; });
  return kind == Kind::set && inside != negated;
}

bool NamePattern::matches(std::string_view name) const {
  if (literal_) return name == text_;
  std::size_t token = 0;
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;  // the last '*' so far
  std::size_t retry = 0;                      // where the rest was last tried
  while (at < name.size()) {
    if (token < tokens_.size() && tokens_[token].kind == Token::Kind::run) {
      star = token++;
      retry = at;
      continue;
    }
    std::size_t next = at;
    if (token < tokens_.size() && tokens_[token].takes(next_character(name, next))) {
      ++token;
      at = next;
      continue;
    }
    if (star == std::string_view::npos) return false;
    next_character(name, retry);
    token = star + 1;
    at = retry;
  }
  while (token < tokens_.size() && tokens_[token].kind == Token::Kind::run) ++token;
  return token == tokens_.size();
}

}  // namespace mcpivot
