#include "config/jsonc.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '.';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What users of other languages write for JSON's words.
std::string_view meant_by(std::string_view word) {
  if (word == "True" || word == "TRUE" || word == "yes" || word == "on") return "true";
  if (word == "False" || word == "FALSE" || word == "no" || word == "off") return "false";
  if (word == "None" || word == "nil" || word == "NULL" || word == "Null" || word == "undefined")
    return "null";
  return {};
}

// Each function that reads something moves past it. False: error_ says why not, and the parser can't be
// used again.
class Parser {
 public:
  Parser(std::string_view text, const JsoncLimits& limits) : text_(text), limits_(limits) {}

  std::expected<JsoncValue, JsoncError> parse() {
    JsoncValue value;
    if (!begin() || !read(value) || !skip_space()) return std::unexpected(std::move(error_));
    if (at_ < text_.size()) {
      fail("expected the end of the file, found {}", found());
      return std::unexpected(std::move(error_));
    }
    return value;
  }

 private:
  // The current position; the only copy of line and column, so that they always match the byte.
  JsoncPlace here() const { return {at_, at_, line_, column_}; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_end() const { return at_ >= text_.size(); }

  template <class... Args>
  bool fail_at(const JsoncPlace& place, fmt::format_string<Args...> format, Args&&... args) {
    error_ = {place, fmt::format(format, std::forward<Args>(args)...)};
    return false;
  }
  template <class... Args>
  bool fail(fmt::format_string<Args...> format, Args&&... args) {
    return fail_at(here(), format, std::forward<Args>(args)...);
  }

  bool begin() {
    if (text_.size() > limits_.bytes)
      return fail("the file has {} bytes; at most {} are read", text_.size(), limits_.bytes);
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF"))
      return fail("the file is UTF-16; save it as UTF-8");
    if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
    return true;
  }

  // One character further. Invalid UTF-8 is an error anywhere in the file.
  bool step() {
    const std::size_t length = character_length(text_.substr(at_));
    if (length == 0) return fail("this byte isn't valid UTF-8; save the file as UTF-8");
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 0;
    }
    ++column_;
    at_ += length;
    return true;
  }
  // Skips bytes that are known to be ASCII and not line ends.
  void jump(std::size_t bytes) {
    at_ += bytes;
    column_ += static_cast<unsigned>(bytes);
  }

  // What is at the cursor, for messages.
  std::string found() const {
    if (at_end()) return "the end of the file";
    if (is_word(peek())) return fmt::format("'{}'", word());
    const auto c = static_cast<unsigned char>(peek());
    if (c < 0x20 || c == 0x7F) return fmt::format("the control character 0x{:02x}", c);
    return fmt::format("'{}'",
                       text_.substr(at_, std::max<std::size_t>(1, character_length(text_.substr(at_)))));
  }
  std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() && end - at_ < 40 && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  // White space and comments.
  bool skip_space() {
    while (!at_end()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        if (!step()) return false;
      } else if (c == '/' && peek(1) == '/') {
        while (!at_end() && peek() != '\n')
          if (!step()) return false;
      } else if (c == '/' && peek(1) == '*') {
        const JsoncPlace start = here();
        jump(2);
        while (!at_end() && !(peek() == '*' && peek(1) == '/'))
          if (!step()) return false;
        if (at_end()) return fail_at(start, "this comment is not closed; end it with */");
        jump(2);
      } else {
        return true;
      }
    }
    return true;
  }

  bool read(JsoncValue& value) {
    if (!skip_space()) return false;
    if (++values_ > limits_.values)
      return fail("the file has more than {} values; no more are read", limits_.values);
    value.place = here();
    if (!read_kind(value)) return false;
    value.place.end = at_;
    return true;
  }

  bool read_kind(JsoncValue& value) {
    const char c = peek();
    if (c == '{' || c == '[') {
      if (depth_ == limits_.depth) return fail("nested too deeply (more than {} levels)", limits_.depth);
      ++depth_;
      const bool good = c == '{' ? object(value) : array(value);
      --depth_;
      return good;
    }
    if (c == '"') {
      value.kind = JsoncValue::Kind::string;
      return string(value.text);
    }
    if (c == '-' || is_digit(c)) return number(value);
    if (c == '\'') return fail("expected a value; strings need double quotes (\")");
    return literal(value);
  }

  bool literal(JsoncValue& value) {
    const std::string_view name = word();
    if (name == "true" || name == "false") {
      value.kind = JsoncValue::Kind::boolean;
      value.boolean = name == "true";
    } else if (name != "null") {
      const std::string_view meant = meant_by(name);
      if (!meant.empty()) return fail("expected a value, found '{}'; write {}", name, meant);
      if (!name.empty() && !is_digit(name[0]) && name[0] != '.')
        return fail("expected a value, found '{}'; a string needs double quotes", name);
      return fail("expected a value, found {}", found());
    }
    jump(name.size());
    return true;
  }

  bool number(JsoncValue& value) {
    const JsoncPlace start = here();
    auto digits = [&] {
      const std::size_t first = at_;
      while (is_digit(peek())) jump(1);
      return at_ > first;
    };
    auto wrong = [&](const char* how) { return fail_at(start, "this isn't a JSON number: {}", how); };
    if (peek() == '-') jump(1);
    const bool zero = peek() == '0';
    const std::size_t first = at_;
    if (!digits()) return wrong("a digit must follow the '-'");
    if (zero && at_ - first > 1) return wrong("it must not begin with 0");
    if (peek() == '.') {
      jump(1);
      if (!digits()) return wrong("a digit must follow the '.'");
    }
    if (peek() == 'e' || peek() == 'E') {
      jump(1);
      if (peek() == '+' || peek() == '-') jump(1);
      if (!digits()) return wrong("a digit must follow the 'e'");
    }
    if (is_word(peek())) return wrong("a text like 30s needs double quotes");
    value.kind = JsoncValue::Kind::number;
    value.text = text_.substr(start.begin, at_ - start.begin);
    return true;
  }

  bool string(std::string& into) {
    const JsoncPlace start = here();
    jump(1);
    while (true) {
      if (at_end()) return fail_at(start, "this string is not closed; end it with \"");
      const char c = peek();
      if (c == '"') break;
      if (c == '\n' || c == '\r')
        return fail_at(start,
                       "this string is not closed on its line; end it with \", or write \\n for a line end");
      if (static_cast<unsigned char>(c) < 0x20)
        return fail("{} isn't allowed in a string; write {}", c == '\t' ? "a tab" : found(),
                    c == '\t' ? "\\t" : fmt::format("\\u{:04x}", static_cast<unsigned char>(c)));
      if (c == '\\') {
        if (!escape(into)) return false;
        continue;
      }
      const std::size_t first = at_;
      if (!step()) return false;
      into += text_.substr(first, at_ - first);
    }
    jump(1);
    return true;
  }

  bool escape(std::string& into) {
    const char c = peek(1);
    static constexpr std::string_view spelled = "\"\\/bfnrt";
    static constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    if (const auto which = spelled.find(c); c != '\0' && which != std::string_view::npos) {
      into += meant[which];
      jump(2);
      return true;
    }
    if (c != 'u') return fail("JSON has no such escape; a backslash itself is written twice: \\\\");
    const JsoncPlace start = here();
    const auto first = unit();
    if (!first) return fail_at(start, "expected four hexadecimal digits after \\u");
    char32_t character = *first;
    if (character >= 0xD800 && character <= 0xDFFF) {
      const auto second = character < 0xDC00 ? unit() : std::nullopt;
      if (!second || *second < 0xDC00 || *second > 0xDFFF)
        return fail_at(start, "this is half a character; \\ud800 to \\udfff come in pairs, high and low");
      character = 0x10000 + ((character - 0xD800) << 10) + (*second - 0xDC00);
    }
    append_utf8(into, character);
    return true;
  }
  // "\uXXXX"
  std::optional<char32_t> unit() {
    if (peek() != '\\' || peek(1) != 'u') return {};
    char32_t value = 0;
    for (std::size_t i = 2; i < 6; ++i) {
      const int digit = hex_digit(peek(i));
      if (digit < 0) return {};
      value = value * 16 + static_cast<char32_t>(digit);
    }
    jump(6);
    return value;
  }

  bool array(JsoncValue& value) {
    value.kind = JsoncValue::Kind::array;
    return list(value.place, ']', [&] { return read(value.elements.emplace_back()); });
  }

  bool object(JsoncValue& value) {
    value.kind = JsoncValue::Kind::object;
    return list(value.place, '}', [&] {
      JsoncMember& member = value.members.emplace_back();
      member.place = here();
      if (peek() != '"') {
        if (is_word(peek())) return fail("expected a key in double quotes, found {}", found());
        return fail("expected a key in double quotes or '}}', found {}", found());
      }
      if (!string(member.key)) return false;
      member.place.end = at_;
      if (!skip_space()) return false;
      if (peek() != ':') return fail("expected ':' after the key \"{}\", found {}", member.key, found());
      jump(1);
      return read(member.value);
    });
  }

  // The content of brackets, separated by commas, with an optional trailing one.
  template <class ReadOne>
  bool list(const JsoncPlace& start, char close, ReadOne read_one) {
    const char open = peek();
    jump(1);
    while (true) {
      if (!skip_space()) return false;
      if (at_end())
        return fail("the '{}' of line {}, column {} is not closed; expected '{}'", open, start.line,
                    start.column, close);
      if (peek() == close) break;
      if (!read_one() || !skip_space()) return false;
      if (peek() == ',') {
        jump(1);
      } else if (!at_end() && peek() != close) {
        return fail("expected ',' or '{}', found {}", close, found());
      }
    }
    jump(1);
    return true;
  }

  std::string_view text_;
  const JsoncLimits& limits_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
  unsigned column_ = 1;
  unsigned depth_ = 0;
  std::size_t values_ = 0;
  JsoncError error_;
};

}  // namespace

const JsoncValue* JsoncValue::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &JsoncMember::key);
  return found == members.end() ? nullptr : &found->value;
}

std::expected<JsoncValue, JsoncError> parse_jsonc(std::string_view text, const JsoncLimits& limits) {
  return Parser(text, limits).parse();
}

std::string_view kind_text(JsoncValue::Kind kind) {
  using enum JsoncValue::Kind;
  switch (kind) {
    case null:
      return "null";
    case boolean:
      return "true or false";
    case number:
      return "a number";
    case string:
      return "a string";
    case array:
      return "a list";
    case object:
      return "an object";
  }
  return "a value";
}

}  // namespace mcpivot
