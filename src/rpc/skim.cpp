#include "rpc/skim.h"

#include <cstring>

#include "base/utf8.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {

void Skim::feed(std::string_view piece) {
  size_ += piece.size();
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const char c = piece[i];
    if (!in_string_) {
      structural(c);
      continue;
    }
    if (depth_ > 1 && !after_backslash_ && c != '"' && c != '\\') {
      // Nearly all bytes are in strings that don't matter: jump to what may end this one.
      const char* rest = piece.data() + i;
      const std::size_t left = piece.size() - i;
      const auto* quote = static_cast<const char*>(std::memchr(rest, '"', left));
      const std::size_t span = quote != nullptr ? static_cast<std::size_t>(quote - rest) : left;
      const auto* backslash = static_cast<const char*>(std::memchr(rest, '\\', span));
      i += (backslash != nullptr ? static_cast<std::size_t>(backslash - rest) : span) - 1;
      continue;
    }
    if (depth_ == 1) {
      if (token_.size() < longest_value) {
        token_ += c;
      } else {
        overlong_ = true;
      }
    }
    if (after_backslash_) {
      after_backslash_ = false;
    } else if (c == '\\') {
      after_backslash_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
  }
}

void Skim::structural(char c) {
  switch (c) {
    case '"':
      in_string_ = true;
      if (depth_ == 1) token_ = c;
      break;
    case '{':
    case '[':
      ++depth_;
      break;
    case '}':
    case ']':
      if (depth_ == 1) finish_token();
      --depth_;
      break;
    case ':':
      if (depth_ == 1) {
        key_ = token_is_valid() ? string_value(token_) : std::string();
        token_.clear();
        overlong_ = false;
        expecting_value_ = true;
      }
      break;
    case ',':
      if (depth_ == 1) finish_token();
      break;
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      break;
    default:
      if (depth_ == 1 && expecting_value_ && token_.size() < longest_value) token_ += c;
  }
}

void Skim::finish_token() {
  if (expecting_value_) {
    if (key_ == "id") keep(id_);
    if (key_ == "method") keep(method_);
  }
  expecting_value_ = false;
  overlong_ = false;
  token_.clear();
}

bool Skim::token_is_valid() const {
  JsonCursor cursor(token_);
  return !overlong_ && cursor.value() && cursor.end() && token_.find_first_of("{[tfn") != 0 &&
         is_utf8(token_);
}

// With a second value for the same key, which one counts would be a guess: so neither does.
void Skim::keep(std::optional<std::string>& value) {
  value = !value && token_is_valid() ? token_ : std::string();
}

}  // namespace mcpivot
