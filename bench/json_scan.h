// Finds the members of a JSON object without building anything, for the echo server: its own cost must be
// small compared with that of the proxy in front of it. The input is assumed to be valid JSON; on anything
// else the scan ends early, within bounds. Keys are compared as they are spelled.
#pragma once

#include <string_view>

// Walks over the members of one object, at its own level only.
class Members {
 public:
  // `object` is the object's text, from its opening brace (white space before it is fine).
  explicit Members(std::string_view object);

  // Goes on to the next member; false at the end.
  bool next();

  // The text between the quotes of the key.
  std::string_view key() const { return key_; }
  // The value as the text spells it: a string with its quotes, an object with its braces.
  std::string_view value() const { return value_; }
  // True once the closing brace has been reached, so that the object was complete.
  bool complete() const { return complete_; }

 private:
  bool skip_space();
  bool skip_string();
  bool skip_nested();
  bool skip_value();

  const char* at_;
  const char* end_;
  std::string_view key_;
  std::string_view value_;
  bool complete_ = false;
};
