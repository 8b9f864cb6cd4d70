#include "base/utf8.h"

#include <array>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace mcpivot {
namespace {

bool all_ascii(const char* bytes) {  // eight of them
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

#ifdef __x86_64__

// Whether two neighbours, a byte and the next, are wrong can be told from three half-bytes: the first's high
// and low half, and the second's high half. A rule is broken where all three are in its sets (a bit for each
// value).
struct Rule {
  unsigned first_high;
  unsigned first_low;
  unsigned second_high;
};
constexpr unsigned any = 0xFFFF;
constexpr unsigned continuation = 0x0F00;  // 8 to B
constexpr std::array<Rule, 8> rules{{
    {0xF000, any, 0xF0FF},             // the start of a character, and no continuation
    {0x00FF, any, continuation},       // a continuation of an ASCII character
    {0x1000, 0x0003, continuation},    // C0, C1: would fit into one byte
    {0x4000, 0x0001, 0x0300},          // E0 8x, 9x: would fit into two bytes
    {0x4000, 0x2000, 0x0C00},          // ED Ax, Bx: half of a surrogate pair
    {0x8000, 0xFFE1, 0x0100},          // F0 8x: would fit into three bytes; F5 to FF 8x: too large
    {0x8000, 0xFFF0, 0x0E00},          // F4 to FF, then 9x to Bx: too large
    {continuation, any, continuation}  // two continuations: right only at the end of a longer character
}};
constexpr char two_continuations = static_cast<char>(1U << 7);

// For each value of a half-byte, the rules (a bit each) that it may break.
constexpr std::array<std::uint8_t, 16> table(unsigned Rule::* half) {
  std::array<std::uint8_t, 16> bits{};
  for (unsigned value = 0; value < 16; ++value)
    for (unsigned rule = 0; rule < rules.size(); ++rule)
      if (((rules[rule].*half >> value) & 1U) != 0)
        bits[value] = static_cast<std::uint8_t>(bits[value] | (1U << rule));
  return bits;
}
constexpr auto by_first_high = table(&Rule::first_high);
constexpr auto by_first_low = table(&Rule::first_low);
constexpr auto by_second_high = table(&Rule::second_high);

// NOLINTBEGIN(portability-simd-intrinsics)
__m128i load(const void* bytes) {
  __m128i block;
  std::memcpy(&block, bytes, sizeof block);
  return block;
}

// Not zero where a byte of `now` is wrong behind those before it.
__attribute__((target("ssse3"))) __m128i wrong(__m128i now, __m128i before) {
  const __m128i low = _mm_set1_epi8(0x0F);
  const __m128i back1 = _mm_alignr_epi8(now, before, 15);
  const __m128i back2 = _mm_alignr_epi8(now, before, 14);
  const __m128i back3 = _mm_alignr_epi8(now, before, 13);
  const auto high_half = [low](__m128i bytes) __attribute__((target("ssse3"))) {
    return _mm_and_si128(_mm_srli_epi16(bytes, 4), low);
  };
  const __m128i broken =
      _mm_and_si128(_mm_and_si128(_mm_shuffle_epi8(load(by_first_high.data()), high_half(back1)),
                                  _mm_shuffle_epi8(load(by_first_low.data()), _mm_and_si128(back1, low))),
                    _mm_shuffle_epi8(load(by_second_high.data()), high_half(now)));
  // Two behind E0 and more, and three behind F0 and more, there must be a second continuation. Subtracting
  // leaves the highest bit set for these alone.
  const __m128i third = _mm_subs_epu8(back2, _mm_set1_epi8(0xE0 - 0x80));
  const __m128i fourth = _mm_subs_epu8(back3, _mm_set1_epi8(0xF0 - 0x80));
  const __m128i due = _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8(two_continuations));
  return _mm_xor_si128(due, broken);
}

__attribute__((target("ssse3"))) bool is_utf8_by_blocks(std::string_view text) {
  constexpr std::size_t size = sizeof(__m128i);
  __m128i before = _mm_setzero_si128();
  __m128i error = _mm_setzero_si128();
  bool ascii_before = true;
  std::size_t at = 0;
  for (; at + size <= text.size(); at += size) {
    const __m128i now = load(text.data() + at);
    const bool ascii = _mm_movemask_epi8(now) == 0;
    if (!ascii || !ascii_before) error = _mm_or_si128(error, wrong(now, before));
    ascii_before = ascii;
    before = now;
  }
  // The rest, and zeros, behind which no character can be unfinished.
  std::array<char, size> rest{};
  std::memcpy(rest.data(), text.data() + at, text.size() - at);
  const __m128i last = load(rest.data());
  error = _mm_or_si128(error, wrong(last, before));
  error = _mm_or_si128(error, wrong(_mm_setzero_si128(), last));
  return _mm_movemask_epi8(_mm_cmpeq_epi8(error, _mm_setzero_si128())) == 0xFFFF;
}
// NOLINTEND(portability-simd-intrinsics)

#endif

}  // namespace

std::size_t character_length(std::string_view text) {
  auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  auto continues = [&](std::size_t at) { return at < text.size() && continues_character(text[at]); };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8_by_bytes(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length =
        text.size() >= 8 && all_ascii(text.data()) ? 8 : character_length(text.substr(0, 4));
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_utf8(std::string_view text) {
#ifdef __x86_64__
  static const bool by_blocks = __builtin_cpu_supports("ssse3") != 0;
  if (by_blocks && text.size() >= sizeof(__m128i)) return is_utf8_by_blocks(text);
#endif
  return is_utf8_by_bytes(text);
}

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
