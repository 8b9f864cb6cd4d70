// The one kind of credentials that mcpivot accepts over HTTP: `Authorization: Bearer TOKEN` (RFC 6750),
// parsed strictly, so that nobody in front of us reads a different token from it. The server must refuse a
// request with two Authorization headers.
//
// Any thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace mcpivot {

// Letters, digits and -._~+/ , and = only at the end.
constexpr bool is_bearer_token(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-._~+/").contains(c);
  });
}

// The token in the value of an Authorization header (without surrounding blanks, as HTTP requires). Nothing:
// it is of another kind, or doesn't contain exactly one token.
inline std::optional<std::string_view> bearer_token(std::string_view value) {
  constexpr std::string_view scheme = "bearer";
  if (value.size() <= scheme.size() || lower(value.substr(0, scheme.size())) != scheme) return std::nullopt;
  value.remove_prefix(scheme.size());
  const auto blanks = std::min(value.find_first_not_of(' '), value.size());
  value.remove_prefix(blanks);
  if (blanks == 0 || !is_bearer_token(value)) return std::nullopt;
  return value;
}

}  // namespace mcpivot
