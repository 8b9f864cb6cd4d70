// Finds where a JSON string ends and validates what is in it. Nearly all bytes of large messages are in
// strings, many of them full of escapes (source code, JSON within JSON), so this determines the cost of a
// large message: it looks at 64 bytes at a time where the processor can, and at one otherwise.
//
// Any thread.
#pragma once

#include <bit>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace mcpivot {

struct StringScan {
  const char* at = nullptr;     // the closing quote, or where the error is
  const char* error = nullptr;  // what is wrong; null: nothing
  bool escaped = false;         // it contains a backslash
  bool utf8 = true;             // its content is UTF-8
};

// `at` is just after the opening quote, in a text that starts at `begin` and is valid up to `at`.
StringScan scan_string(const char* begin, const char* at, const char* end);

// Keys and most values are short and plain: this finds their closing quote within 16 bytes, or gives up
// (null).
inline const char* closing_quote_of_short_string([[maybe_unused]] const char* at,
                                                 [[maybe_unused]] const char* end) {
#if defined(__x86_64__)
  if (end - at < 16) return nullptr;
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  // As signed numbers, non-ASCII bytes are negative, so this finds them along with control characters.
  const __m128i not_plain = _mm_or_si128(
      _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
      _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
  const auto found = static_cast<unsigned>(_mm_movemask_epi8(not_plain));
  const char* first = at + std::countr_zero(found);
  return found != 0 && *first == '"' ? first : nullptr;
#else
  return nullptr;
#endif
}

// Like scan_string(), but byte by byte: for other processors and short texts, and as the reference in
// tests.
StringScan scan_string_plainly(const char* at, const char* end);

}  // namespace mcpivot
