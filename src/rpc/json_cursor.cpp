#include "rpc/json_cursor.h"

#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/text.h"

namespace mcpivot {
namespace {

std::uint32_t four_hex(std::string_view text) {
  std::uint32_t code = 0;
  std::from_chars(text.data(), text.data() + 4, code, 16);
  return code;
}

}  // namespace

void append_utf8(std::string& out, char32_t code) {
  auto byte = [&](char32_t bits) { out += static_cast<char>(bits); };
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

bool JsonCursor::value(Span& where) {
  next();
  const char* start = at_;
  if (!value()) return false;
  where = {static_cast<std::uint32_t>(start - begin_), static_cast<std::uint32_t>(at_ - start)};
  return true;
}

bool JsonCursor::value() {
  const unsigned outer = depth_;
  Key ignored;
  while (true) {
    const char c = next();
    if (c == '"') {
      if (!string()) return false;
    } else if (c == '{') {
      if (!enter('}')) return false;
      if (next() != '}') {
        if (!key(ignored)) return false;
        continue;
      }
      leave();
    } else if (c == '[') {
      if (!enter(']')) return false;
      if (next() != ']') continue;
      leave();
    } else if (!scalar(c)) {
      return false;
    }
    // A value is complete: go on with its container, and with the enclosing ones as long as they end here
    // too.
    while (true) {
      if (depth_ == outer) return true;
      const char closing = closing_[depth_ - 1];
      const char after = next();
      if (after == ',') {
        ++at_;
        if (closing == '}' && !key(ignored)) return false;
        break;
      }
      if (after != closing) return fail(closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
      leave();
    }
  }
}

bool JsonCursor::end() {
  next();
  return at_ == end_ || fail("there is more after the message");
}

char JsonCursor::next_behind_space() {
  while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  return at_ < end_ ? *at_ : '\0';
}

// A value that is neither a string nor a container, and begins with c.
bool JsonCursor::scalar(char c) {
  switch (c) {
    case 't':
      return literal("true");
    case 'f':
      return literal("false");
    case 'n':
      return literal("null");
    case '\0':
      return fail(at_ == end_ ? "the text ends early" : "a NUL byte");
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

bool JsonCursor::long_string(bool* escaped) {
  const StringScan scan = scan_string(begin_, at_ + 1, end_);
  at_ = scan.at;
  if (scan.error != nullptr) return fail(scan.error);
  ++at_;  // the closing quote
  utf8_ &= scan.utf8;
  if (escaped != nullptr) *escaped = scan.escaped;
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
        // Half of a pair is JSON but not a character; emitting it would produce invalid UTF-8.
        append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
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
