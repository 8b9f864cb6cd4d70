// Walks over JSON text once, validates every byte of it, and tells where values lie.
//
// Why not simdjson: its On-Demand parser skips what nobody reads, so a broken value would pass; its DOM
// parser validates everything but forgets where values stood and copies every string, which for a 5 MB result
// costs more memory than the message itself. This cursor does both in one pass and allocates nothing.
// `./dev bench peek` compares the three.
//
// A cursor borrows the text. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "rpc/json_string.h"
#include "rpc/span.h"

namespace mcpivot {

class JsonCursor {
 public:
  // Containers may be nested this deep, as in simdjson; deeper text is refused.
  static constexpr unsigned max_depth = 1024;

  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {
    in_object_[0] = 0;
  }

  // A key as it is spelled, between its quotes.
  struct Key {
    std::string_view text;
    bool escaped;  // has a backslash in it: decode before comparing
  };

  // Each of these reads something at the cursor and moves behind it. False: the text is not JSON, and what()
  // and offset() say what was wrong and where; then the cursor is of no more use.
  bool value();              // any one value
  bool value(Span& where);   // the same, and where it lies
  bool end();                // nothing but white space follows
  template <class OnMember>  // an object; on_member(Key) must read the member's value and return true
  bool object(OnMember&& on_member);
  template <class OnElement>  // an array; on_element() must read the element and return true
  bool array(OnElement&& on_element);

  // The next character that is not white space, or NUL at the end of the text.
  char next() {
    skip_space();
    return at_ < end_ ? *at_ : '\0';
  }

  // Whether what was read is UTF-8. Text that isn't does not stop the cursor.
  bool utf8() const { return utf8_; }

  const char* what() const { return what_; }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  bool fail(const char* what) {
    what_ = what;
    return false;
  }
  void skip_space() {
    if (at_ < end_ && *at_ > ' ') return;
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  bool scalar(char c);
  bool string(bool* escaped = nullptr) {
    if (const char* quote = closing_quote_of_short_string(at_ + 1, end_)) {
      at_ = quote + 1;
      return true;
    }
    return long_string(escaped);
  }
  bool long_string(bool* escaped);
  bool number();
  bool literal(std::string_view word);
  bool key(Key& key) {
    if (next() != '"') return fail("expected a key in quotes");
    const char* start = at_ + 1;
    key.escaped = false;
    if (!string(&key.escaped)) return false;
    key.text = {start, static_cast<std::size_t>(at_ - 1 - start)};
    return take(':') || fail("expected ':' after a key");
  }
  // Opens a container, whose first character the cursor is at.
  bool enter(char open) {
    if (next() != open) return fail(open == '{' ? "expected an object" : "expected an array");
    if (depth_ == max_depth) return fail("nested too deeply (more than 1024 levels)");
    const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
    std::uint64_t& word = in_object_[static_cast<std::size_t>(depth_ / 64)];
    if (depth_ % 64 == 0) word = 0;
    word = open == '{' ? word | bit : word & ~bit;
    ++depth_;
    ++at_;
    return true;
  }
  bool in_object() const {
    const unsigned level = depth_ - 1;
    return ((in_object_[static_cast<std::size_t>(level / 64)] >> (level % 64)) & 1) != 0;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* what_ = "";
  bool utf8_ = true;
  unsigned depth_ = 0;
  // A bit per open container: is it an object? A word is cleared when it is first needed, and more than one
  // rarely is.
  std::array<std::uint64_t, max_depth / 64> in_object_;
};

// The value of a member of this object, or nothing if there is none or the text is no object.
std::string_view find_member(std::string_view object, std::string_view key);

// The text of a JSON string without its quotes, unescaped. The input must have been validated. Always UTF-8:
// for half a surrogate pair stands U+FFFD.
std::string unescape(std::string_view text);

// Adds a character to UTF-8 text.
void append_utf8(std::string& out, char32_t code);

// A JSON string, with its quotes, that stands for this text.
std::string quote(std::string_view text);

template <class OnMember>
bool JsonCursor::object(OnMember&& on_member) {
  if (!enter('{')) return false;
  if (take('}')) return --depth_, true;
  while (true) {
    Key name;
    if (!key(name) || !on_member(name)) return false;
    if (take(',')) continue;
    if (!take('}')) return fail("expected ',' or '}'");
    return --depth_, true;
  }
}

template <class OnElement>
bool JsonCursor::array(OnElement&& on_element) {
  if (!enter('[')) return false;
  if (take(']')) return --depth_, true;
  while (true) {
    if (!on_element()) return false;
    if (take(',')) continue;
    if (!take(']')) return fail("expected ',' or ']'");
    return --depth_, true;
  }
}

}  // namespace mcpivot
