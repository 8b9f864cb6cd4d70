#include "watch/path_pattern.h"

#include <algorithm>

namespace mcpivot {
namespace {

constexpr std::size_t none = std::string_view::npos;

// The character at this place, which moves behind it.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(at);
  const std::size_t more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 ? 2 : first >= 0xC2 ? 1 : 0;
  constexpr char32_t stray = 0xDC00;  // no character has this number, so a stray byte is like nothing else
  if (first < 0x80) return ++at, first;
  if (more == 0 || first >= 0xF8 || at + more >= text.size()) return ++at, stray + first;
  char32_t character = first & (0x3FU >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return ++at, stray + first;
    character = character << 6U | (byte(at + i) & 0x3FU);
  }
  at += more + 1;
  return character;
}

// Where the name behind the one at this place begins, or none.
std::size_t next_name(std::string_view path, std::size_t at) {
  const std::size_t slash = path.find('/', at);
  return slash == none ? none : slash + 1;
}

std::string_view name_at(std::string_view path, std::size_t at) {
  return path.substr(at, path.find('/', at) - at);
}

}  // namespace

std::expected<PathPattern, std::string> PathPattern::compile(std::string_view text) {
  PathPattern pattern;
  for (std::size_t at = 0; at != none; at = next_name(text, at)) {
    const std::string_view name = name_at(text, at);
    if (name.empty()) continue;
    auto segment = compile_segment(name);
    if (!segment) return std::unexpected(segment.error());
    const bool repeated = segment->folders && !pattern.segments_.empty() && pattern.segments_.back().folders;
    if (!repeated) pattern.segments_.push_back(std::move(*segment));
  }
  if (pattern.segments_.empty()) return std::unexpected("it is empty");
  return pattern;
}

std::expected<PathPattern::Segment, std::string> PathPattern::compile_segment(std::string_view text) {
  Segment segment;
  if (text == "**") {
    segment.folders = true;
    return segment;
  }
  segment.literal = true;
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
      segment.text += text.substr(begin, at - begin);
    }
    if (token.kind != Token::Kind::character) segment.literal = false;
    const bool repeated = token.kind == Token::Kind::run && !segment.tokens.empty() &&
                          segment.tokens.back().kind == Token::Kind::run;
    if (!repeated) segment.tokens.push_back(std::move(token));
  }
  return segment;
}

std::expected<PathPattern::Token, std::string> PathPattern::compile_set(std::string_view text,
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

bool PathPattern::Token::takes(char32_t c) const {
  if (kind == Kind::character) return c == character;
  if (kind == Kind::any) return true;
  const bool inside =
      std::ranges::any_of(ranges, [c](const auto& range) { return range.first <= c && c <= range.second; });
  return kind == Kind::set && inside != negated;
}

bool PathPattern::Segment::matches(std::string_view name) const {
  if (literal) return name == text;
  if (folders) return true;
  std::size_t token = 0;
  std::size_t at = 0;
  std::size_t star = none;  // the last '*' that was met
  std::size_t retry = 0;    // where what stands behind it was tried last
  while (at < name.size()) {
    if (token < tokens.size() && tokens[token].kind == Token::Kind::run) {
      star = token++;
      retry = at;
      continue;
    }
    std::size_t next = at;
    if (token < tokens.size() && tokens[token].takes(next_character(name, next))) {
      ++token;
      at = next;
      continue;
    }
    if (star == none) return false;
    next_character(name, retry);
    token = star + 1;
    at = retry;
  }
  while (token < tokens.size() && tokens[token].kind == Token::Kind::run) ++token;
  return token == tokens.size();
}

// The same walk once more, with names for characters and '**' for '*'.
bool PathPattern::matches(std::string_view path, std::size_t segments) const {
  std::size_t segment = 0;
  std::size_t at = path.empty() ? none : 0;
  std::size_t star = none;
  std::size_t retry = 0;
  while (at != none) {
    if (segment < segments && segments_[segment].folders) {
      if (segment + 1 == segments) return true;
      star = segment++;
      retry = at;
      continue;
    }
    if (segment < segments && segments_[segment].matches(name_at(path, at))) {
      ++segment;
      at = next_name(path, at);
      continue;
    }
    if (star == none) return false;
    retry = next_name(path, retry);
    segment = star + 1;
    at = retry;
  }
  return segment == segments;
}

bool PathPattern::may_match_below(std::string_view folder) const {
  std::size_t segment = 0;
  for (std::size_t at = folder.empty() ? none : 0; at != none; at = next_name(folder, at), ++segment) {
    if (segment == segments_.size()) return false;
    if (segments_[segment].folders) return true;
    if (!segments_[segment].matches(name_at(folder, at))) return false;
  }
  return segment < segments_.size();
}

bool PathPattern::names(std::string_view path) const {
  for (std::size_t i = 0; i < segments_.size(); ++i)
    if (segments_[i].literal && matches(path, i + 1)) return true;
  return false;
}

}  // namespace mcpivot
