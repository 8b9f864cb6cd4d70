// Removes members from the objects in a message, by edits: commas stay right, and other bytes stay as they
// are.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rpc/edit.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

// Removes the members of the object for which fits(key, value) is true; the key is passed without escapes.
// Returns how many are left. To add one, insert it at the object's end: no edit of this function goes beyond
// that.
template <class Fits>
std::size_t remove_members(std::string_view raw, Span object, Edits& edits, Fits&& fits) {
  const std::string_view text = object.of(raw);
  std::size_t left = 0;
  bool leading = false;     // only members to remove so far,
  std::uint32_t first = 0;  // the first of them here
  std::uint32_t last = 0;   // where the last member ends
  const auto remove = [&](std::uint32_t begin, std::uint32_t end) {
    edits.replace({object.begin + begin, end - begin}, "");
  };
  JsonCursor cursor(text);
  cursor.object([&](const JsonCursor::Key& key) {
    const auto begin = static_cast<std::uint32_t>(key.text.data() - 1 - text.data());
    Span value;
    if (!cursor.value(value)) return false;
    const bool goes = key.escaped ? fits(std::string_view(unescape(key.text)), value.of(text))
                                  : fits(key.text, value.of(text));
    if (!goes) {
      if (left++ == 0 && leading) remove(first, begin);
    } else if (left > 0) {
      remove(last, value.end());
    } else if (!leading) {
      leading = true;
      first = begin;
    }
    last = value.end();
    return true;
  });
  if (left == 0 && leading) remove(first, last);
  return left;
}

}  // namespace mcpivot
