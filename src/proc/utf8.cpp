#include "proc/utf8.h"

#include "rpc/is_utf8.h"

namespace mcpivot {
namespace {

// How long the character at the front is, or 0 if it is none.
std::size_t character_length(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length)
    if (is_utf8(text.substr(0, length))) return length;
  return 0;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace mcpivot
