#include "rpc/json_cursor.h"

#include <bit>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mcpivot {
namespace {

bool ends_plain_text(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The first character in [at, end) that a string's plain text cannot contain: a quote, a backslash or a
// control character. Most bytes of large messages lie in long strings, so this decides what a message costs.
const char* find_end_of_plain_text(const char* at, const char* end, bool& non_ascii) {
#if defined(__SSE2__)
  const __m128i quotes = _mm_set1_epi8('"');
  const __m128i backslashes = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1f);
  auto special = [&](__m128i block) {
    const __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(block, last_control), last_control);
    return _mm_or_si128(control,
                        _mm_or_si128(_mm_cmpeq_epi8(block, quotes), _mm_cmpeq_epi8(block, backslashes)));
  };
  auto load = [](const char* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  while (end - at >= 64) {
    const __m128i a = load(at), b = load(at + 16), c = load(at + 32), d = load(at + 48);
    const __m128i any =
        _mm_or_si128(_mm_or_si128(special(a), special(b)), _mm_or_si128(special(c), special(d)));
    if (_mm_movemask_epi8(any) != 0) break;
    non_ascii |= _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))) != 0;
    at += 64;
  }
  while (end - at >= 16) {
    const __m128i block = load(at);
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(special(block)));
    const auto high = static_cast<unsigned>(_mm_movemask_epi8(block));
    if (found != 0) {
      const int before = std::countr_zero(found);
      non_ascii |= (high & ((1U << before) - 1)) != 0;
      return at + before;
    }
    non_ascii |= high != 0;
    at += 16;
  }
#endif
  while (at < end && !ends_plain_text(*at)) non_ascii |= static_cast<unsigned char>(*at++) >= 0x80;
  return at;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t code) {
  auto byte = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3f));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

std::uint32_t four_hex(std::string_view text) {
  std::uint32_t code = 0;
  std::from_chars(text.data(), text.data() + 4, code, 16);
  return code;
}

}  // namespace

bool JsonCursor::enter(char open) {
  if (next() != open) return fail(open == '{' ? "expected an object" : "expected an array");
  if (depth_ == max_depth) return fail("nested too deeply (more than 1024 levels)");
  const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
  auto& word = in_object_[static_cast<std::size_t>(depth_ / 64)];
  word = open == '{' ? word | bit : word & ~bit;
  ++depth_;
  ++at_;
  return true;
}

bool JsonCursor::key(Key& key) {
  if (next() != '"') return fail("expected a key in quotes");
  const char* start = at_ + 1;
  key.escaped = false;
  if (!string(&key.escaped)) return false;
  key.text = {start, static_cast<std::size_t>(at_ - 1 - start)};
  return take(':') || fail("expected ':' after a key");
}

bool JsonCursor::value(Span& where) {
  skip_space();
  const char* start = at_;
  if (!value()) return false;
  where = {static_cast<std::uint32_t>(start - begin_), static_cast<std::uint32_t>(at_ - start)};
  return true;
}

bool JsonCursor::value() {
  const int outer = depth_;
  Key ignored;
  while (true) {
    const char c = next();
    if (c == '{') {
      if (!enter('{')) return false;
      if (!take('}')) {
        if (!key(ignored)) return false;
        continue;
      }
      --depth_;
    } else if (c == '[') {
      if (!enter('[')) return false;
      if (!take(']')) continue;
      --depth_;
    } else if (!scalar()) {
      return false;
    }
    // A value is complete: go on with its container, and with that one's as long as they end here too.
    while (true) {
      if (depth_ == outer) return true;
      const bool object =
          (in_object_[static_cast<std::size_t>((depth_ - 1) / 64)] >> ((depth_ - 1) % 64)) & 1;
      const char after = next();
      if (after == ',') {
        ++at_;
        if (object && !key(ignored)) return false;
        break;
      }
      if (after != (object ? '}' : ']')) return fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
      ++at_;
      --depth_;
    }
  }
}

bool JsonCursor::end() {
  skip_space();
  return at_ == end_ || fail("something follows the message");
}

bool JsonCursor::scalar() {
  switch (next()) {
    case '"':
      return string();
    case 't':
      return literal("true");
    case 'f':
      return literal("false");
    case 'n':
      return literal("null");
    case '\0':
      return fail(at_ == end_ ? "the text ends too early" : "a NUL byte");
    default:
      return number();
  }
}

bool JsonCursor::literal(std::string_view word) {
  if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word)
    return fail("expected a value");
  at_ += word.size();
  return true;
}

bool JsonCursor::number() {
  auto digits = [this] {
    const char* start = at_;
    while (at_ < end_ && is_digit(*at_)) ++at_;
    return at_ != start;
  };
  if (*at_ == '-') ++at_;
  if (at_ < end_ && *at_ == '0') {
    ++at_;
  } else if (!digits()) {
    return fail("expected a value");
  }
  if (at_ < end_ && *at_ == '.') {
    ++at_;
    if (!digits()) return fail("expected digits after the decimal point");
  }
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (!digits()) return fail("expected digits in the exponent");
  }
  return true;
}

bool JsonCursor::string(bool* escaped) {
  ++at_;  // the opening quote
  while (true) {
    at_ = find_end_of_plain_text(at_, end_, non_ascii_);
    if (at_ == end_) return fail("a string without its closing quote");
    if (*at_ == '"') {
      ++at_;
      return true;
    }
    if (*at_ != '\\') return fail("a control character in a string");
    if (escaped != nullptr) *escaped = true;
    if (!escape()) return false;
  }
}

bool JsonCursor::escape() {
  if (end_ - at_ < 2) return fail("a string without its closing quote");
  const char kind = at_[1];
  if (kind == 'u') {
    if (end_ - at_ < 6) return fail("a \\u escape without four hexadecimal digits");
    for (int i = 2; i < 6; ++i)
      if (hex_digit(at_[i]) < 0) return fail("a \\u escape without four hexadecimal digits");
    at_ += 6;
    return true;
  }
  if (kind == '\0' || std::strchr("\"\\/bfnrt", kind) == nullptr)
    return fail("an unknown escape in a string");
  at_ += 2;
  return true;
}

std::string_view find_member(std::string_view object, std::string_view key) {
  std::string_view found;
  JsonCursor cursor(object);
  cursor.object([&](const JsonCursor::Key& name) {
    Span where;
    if (!cursor.value(where)) return false;
    if ((name.escaped ? unescape(name.text) : name.text) == key) found = where.of(object);
    return true;
  });
  return found;
}

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    switch (const char kind = text[++i]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        std::uint32_t code = four_hex(text.substr(i + 1));
        i += 4;
        const bool high = code >= 0xd800 && code < 0xdc00;
        if (high && text.substr(i + 1).starts_with("\\u")) {
          const std::uint32_t low = four_hex(text.substr(i + 3));
          if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          }
        }
        append_utf8(out, code);
        break;
      }
      default:
        out += kind;  // a quote, a backslash, a slash
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

}  // namespace mcpivot
