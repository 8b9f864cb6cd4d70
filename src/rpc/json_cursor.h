// Walks over JSON text once, validates every byte, and reports where values are.
//
// Why not simdjson: its On-Demand parser skips what nobody reads, so a broken value would pass; its DOM
// parser validates everything but forgets where values were and copies every string, which for a 5 MB result
// costs more memory than the message itself. This cursor does both in one pass and allocates nothing. `./dev
// bench peek` compares the three.
//
// A cursor borrows the text. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
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
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // A key as spelled, without its quotes.
  struct Key {
    std::string_view text;
    bool escaped;  // contains a backslash: decode before comparing
  };

  // Each of these reads something at the cursor and moves past it. False: the text isn't JSON; what() and
  // offset() say what is wrong and where, and the cursor can't be used any more.
  bool value();              // any one value
  bool value(Span& where);   // the same, and where it is
  bool end();                // nothing but white space follows
  bool key(Key& key);        // a member's key and the colon after it
  template <class OnMember>  // an object; on_member(Key) must read the member's value and return true
  bool object(OnMember&& on_member);
  template <class OnMember>  // the same, but on_member() must read the member's key as well
  bool members(OnMember&& on_member);
  template <class OnElement>  // an array; on_element() must read the element and return true
  bool array(OnElement&& on_element);

  // The next character that is not white space, or NUL at the end of the text.
  char next() { return at_ < end_ && *at_ > ' ' ? *at_ : next_behind_space(); }

  // Moves past this text if it comes next. Where much of the text is predictable, this is the cheapest way
  // to read it: the processor predicts the outcome and goes on, without waiting to learn where a string
  // ends.
  template <std::size_t size>
  bool take(const std::array<char, size>& text) {
    if (static_cast<std::size_t>(end_ - at_) < size || std::memcmp(at_, text.data(), size) != 0) return false;
    at_ += size;
    return true;
  }

  // Whether what was read is UTF-8. Invalid UTF-8 does not stop the cursor.
  bool utf8() const { return utf8_; }

  const char* what() const { return what_; }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  bool fail(const char* what) {
    what_ = what;
    return false;
  }
  char next_behind_space();
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
  // Opens a container; the cursor is at its first character.
  bool enter(char closing) {
    if (depth_ == max_depth) return fail("nested too deeply (more than 1024 levels)");
    closing_[depth_++] = closing;
    ++at_;
    return true;
  }
  // Closes it; the cursor is at its last character.
  void leave() {
    --depth_;
    ++at_;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* what_ = "";
  bool utf8_ = true;
  unsigned depth_ = 0;
  // What closes each of the open containers. Not cleared: few messages use more than ten bytes of it.
  std::array<char, max_depth> closing_;
};

// The value of a member of this object, or nothing if there is none or the text isn't an object.
std::string_view find_member(std::string_view object, std::string_view key);

// Whether this object or array is empty: a first member that is inserted then needs no comma after it.
inline bool is_empty_container(std::string_view json) {
  return json.find_first_not_of(" \t\r\n", 1) == json.size() - 1;
}

// The text of a JSON string without its quotes, unescaped. The input must have been validated. Always UTF-8:
// half of a surrogate pair becomes U+FFFD.
std::string unescape(std::string_view text);

// Appends a character to UTF-8 text.
void append_utf8(std::string& out, char32_t code);

// This text as a JSON string, with its quotes.
std::string quote(std::string_view text);

inline bool JsonCursor::key(Key& key) {
  if (next() != '"') return fail("expected a key in quotes");
  const char* start = at_ + 1;
  key.escaped = false;
  if (!string(&key.escaped)) return false;
  key.text = {start, static_cast<std::size_t>(at_ - 1 - start)};
  if (next() != ':') return fail("expected ':' after a key");
  ++at_;
  return true;
}

template <class OnMember>
bool JsonCursor::object(OnMember&& on_member) {
  return members([&] {
    Key name;
    return key(name) && on_member(name);
  });
}

template <class OnMember>
bool JsonCursor::members(OnMember&& on_member) {
  if (next() != '{') return fail("expected an object");
  if (!enter('}')) return false;
  if (next() == '}') return leave(), true;
  while (true) {
    if (!on_member()) return false;
    const char after = next();
    if (after == '}') return leave(), true;
    if (after != ',') return fail("expected ',' or '}'");
    ++at_;
  }
}

template <class OnElement>
bool JsonCursor::array(OnElement&& on_element) {
  if (next() != '[') return fail("expected an array");
  if (!enter(']')) return false;
  if (next() == ']') return leave(), true;
  while (true) {
    if (!on_element()) return false;
    const char after = next();
    if (after == ']') return leave(), true;
    if (after != ',') return fail("expected ',' or ']'");
    ++at_;
  }
}

}  // namespace mcpivot
