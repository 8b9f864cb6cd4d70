// The scan itself: strings by memchr(), nesting by counting.
#include "json_scan.h"

#include <cstddef>
#include <cstring>

Members::Members(std::string_view object) : at_(object.data()), end_(object.data() + object.size()) {
  if (skip_space() && *at_ == '{')
    ++at_;
  else
    at_ = end_;
}

bool Members::next() {
  if (complete_ || !skip_space()) return false;
  if (*at_ == ',') ++at_;
  if (!skip_space()) return false;
  if (*at_ == '}') {
    complete_ = true;
    return false;
  }
  const char* const key = at_;
  if (*at_ != '"' || !skip_string()) return false;
  key_ = {key + 1, static_cast<size_t>(at_ - key) - 2};
  if (!skip_space() || *at_ != ':') return false;
  ++at_;
  if (!skip_space()) return false;
  const char* const value = at_;
  if (!skip_value()) return false;
  value_ = {value, static_cast<size_t>(at_ - value)};
  return true;
}

bool Members::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  return at_ != end_;
}

// From the opening quote to after the closing one: the first quote with an even number of backslashes before
// it.
bool Members::skip_string() {
  const char* const begin = at_ + 1;
  for (const char* from = begin; from < end_;) {
    const auto* quote = static_cast<const char*>(std::memchr(from, '"', static_cast<size_t>(end_ - from)));
    if (quote == nullptr) break;
    const char* slash = quote;
    while (slash != begin && slash[-1] == '\\') --slash;
    from = quote + 1;
    if ((quote - slash) % 2 == 0) {
      at_ = from;
      return true;
    }
  }
  at_ = end_;
  return false;
}

bool Members::skip_nested() {
  int depth = 0;
  while (at_ != end_) {
    const char c = *at_;
    if (c == '"') {
      if (!skip_string()) return false;
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return true;
  }
  return false;
}

bool Members::skip_value() {
  if (*at_ == '"') return skip_string();
  if (*at_ == '{' || *at_ == '[') return skip_nested();
  const char* const begin = at_;
  while (at_ != end_ && std::strchr(",}] \t\r\n", *at_) == nullptr) ++at_;
  return at_ != begin && at_ != end_;
}
