// Checks 32 bytes of UTF-8 at once, on processors with AVX2. Used by is_utf8(), and by the scan of JSON
// strings, which has loaded the bytes anyway.
//
// Any thread.
#pragma once

#ifdef __x86_64__

#include <immintrin.h>

#include <array>
#include <cstdint>

namespace mcpivot::utf8_block {

// Whether a byte and its successor are invalid can be told from three half-bytes: the first's high and
// low half, and the second's high half. A rule is broken where all three are in its sets (one bit per
// value).
struct Rule {
  unsigned first_high;
  unsigned first_low;
  unsigned second_high;
};
constexpr unsigned any = 0xFFFF;
constexpr unsigned continuation = 0x0F00;  // 8 to B
constexpr std::array<Rule, 8> rules{{
    {0xF000, any, 0xF0FF},             // the start of a character without a continuation
    {0x00FF, any, continuation},       // a continuation of an ASCII character
    {0x1000, 0x0003, continuation},    // C0, C1: fits into one byte
    {0x4000, 0x0001, 0x0300},          // E0 8x, 9x: fits into two bytes
    {0x4000, 0x2000, 0x0C00},          // ED Ax, Bx: half of a surrogate pair
    {0x8000, 0xFFE1, 0x0100},          // F0 8x: fits into three bytes; F5 to FF 8x: too large
    {0x8000, 0xFFF0, 0x0E00},          // F4 to FF, then 9x to Bx: too large
    {continuation, any, continuation}  // two continuations: valid only at the end of a longer character
}};
constexpr char two_continuations = static_cast<char>(1U << 7);

// For each value of a half-byte, the rules (a bit each) that it may break. Stored twice: each half of a block
// has its own lookup table.
constexpr std::array<std::uint8_t, 32> table(unsigned Rule::* half) {
  std::array<std::uint8_t, 32> bits{};
  for (unsigned i = 0; i < bits.size(); ++i)
    for (unsigned rule = 0; rule < rules.size(); ++rule)
      if (((rules[rule].*half >> (i % 16)) & 1U) != 0)
        bits[i] = static_cast<std::uint8_t>(bits[i] | (1U << rule));
  return bits;
}
inline constexpr auto by_first_high = table(&Rule::first_high);
inline constexpr auto by_first_low = table(&Rule::first_low);
inline constexpr auto by_second_high = table(&Rule::second_high);

// NOLINTBEGIN(portability-simd-intrinsics)
__attribute__((target("avx2"))) inline __m256i load(const void* bytes) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
}

// Nonzero where one of the 32 bytes is invalid after the bytes before it. Also reads the three bytes before
// them.
__attribute__((target("avx2"))) inline __m256i wrong(const char* bytes) {
  const __m256i low = _mm256_set1_epi8(0x0F);
  const __m256i now = load(bytes);
  const __m256i back1 = load(bytes - 1);
  const __m256i back2 = load(bytes - 2);
  const __m256i back3 = load(bytes - 3);
  const __m256i back1_high = _mm256_and_si256(_mm256_srli_epi16(back1, 4), low);
  const __m256i now_high = _mm256_and_si256(_mm256_srli_epi16(now, 4), low);
  const __m256i broken = _mm256_and_si256(
      _mm256_and_si256(_mm256_shuffle_epi8(load(by_first_high.data()), back1_high),
                       _mm256_shuffle_epi8(load(by_first_low.data()), _mm256_and_si256(back1, low))),
      _mm256_shuffle_epi8(load(by_second_high.data()), now_high));
  // Two bytes after E0 or higher, and three bytes after F0 or higher, there must be a second continuation.
  // Subtracting leaves the highest bit set for these alone.
  const __m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8(0xE0 - 0x80));
  const __m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8(0xF0 - 0x80));
  const __m256i due = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(two_continuations));
  return _mm256_xor_si256(due, broken);
}
// NOLINTEND(portability-simd-intrinsics)

}  // namespace mcpivot::utf8_block

#endif
